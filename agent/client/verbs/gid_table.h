// SPDX-License-Identifier: Apache-2.0
// The GID table of a port, in the order of RoCE NICs: every address twice, where they have RoCE v1 and v2; here both
// are v2. Programs that take index 3 for granted find the host's primary address there.
//
//   0, 1   fe80:: with the device's GUID
//   2, 3   the first of host_description::addresses
//   4, 5   the second, and so on; the rest is empty
#pragma once

#include <cstddef>
#include <optional>

#include "client/daemon_channel.h"

namespace mrc::client
{

inline constexpr int gid_table_length = 16;

// Nothing: empty, or beyond the table. Every port of the host has the same.
[[nodiscard]] std::optional<mrc_ip> gid_at(const host_description &host, int index);

// The first index of that address.
[[nodiscard]] std::optional<int> gid_index_of(const host_description &host, const mrc_ip &address);

} // namespace mrc::client
