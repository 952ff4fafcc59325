// SPDX-License-Identifier: Apache-2.0
// Numbers of bytes, as people type them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mrc::sizes
{

// "64K", "1.5M", "3072"; powers of 1024, rounded down to whole bytes. Nothing when it is no size.
[[nodiscard]] std::optional<std::uint64_t> parse_size(const std::string &text);

} // namespace mrc::sizes
