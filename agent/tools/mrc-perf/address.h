// SPDX-License-Identifier: Apache-2.0
// GIDs as text and back; an IPv4 address is one of ::ffff:a.b.c.d, and dotted as text.
#pragma once

#include <optional>
#include <string>

#include <infiniband/verbs.h>

namespace mrc::perf
{

[[nodiscard]] std::string to_text(const ibv_gid &gid);
// Nothing when it is no address.
[[nodiscard]] std::optional<ibv_gid> parse_gid(const std::string &text);
[[nodiscard]] bool is_ipv4(const ibv_gid &gid);

} // namespace mrc::perf
