// SPDX-License-Identifier: Apache-2.0
// What the provider offers: fi_getinfo().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

#include "messaging/gid_text.h"
#include "messaging/interfaces.h"

namespace mrc::fi_provider
{

inline constexpr const char *provider_name = "mrc";
inline constexpr std::size_t most_transfers = 1024;             // under way, of one endpoint
inline constexpr std::size_t most_bytes = std::size_t{1} << 40; // of one transfer
inline constexpr std::size_t inject_bytes = 16384;
inline constexpr std::size_t connect_data_bytes = 256; // that travel with connect, accept and reject

int get_info(std::uint32_t version, const char *node, const char *service, std::uint64_t flags, const fi_info *hints,
             fi_info **found);

// A copy that libfabric frees. Null: no memory.
[[nodiscard]] void *allocated_copy(const messaging::socket_address &address, std::size_t &bytes);

// Of the interface FI_MRC_IFACE; else the host's MRC address, where the overlay has it, and otherwise that of the first
// interface that serves.
[[nodiscard]] std::optional<messaging::socket_address> own_address(int family, const messaging::gid_bytes &gid);

::fi_provider &provider();

} // namespace mrc::fi_provider
