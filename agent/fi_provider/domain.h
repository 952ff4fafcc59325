// SPDX-License-Identifier: Apache-2.0
// libfabric's fabric, domain and memory regions. A domain is one use of this host's mrcd.
#pragma once

#include <cstdint>
#include <unordered_set>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include "fi_provider/connection_manager.h"
#include "fi_provider/users.h"
#include "messaging/fabric_endpoint.h"

namespace mrc::fi_provider
{

struct fabric : fid_fabric, used {
    connection_manager connections;

    fabric(std::uint32_t version, void *context);
};

struct domain;

// Keys from here on are no rkeys: of regions that the far end may at most ask to read.
inline constexpr std::uint64_t first_unwritable_key = std::uint64_t{1} << 32;

struct memory_region : fid_mr {
    domain *of;
    std::uintptr_t begin;
    std::size_t bytes;
    std::uint64_t access;
    messaging::held_range range; // where the far end may write: of exactly these bytes, as long as this exists
    use_of domain_use;
};

struct domain : fid_domain, used {
    fabric &in;
    use_of fabric_use;
    messaging::fabric_endpoint endpoint; // its lock stands for the regions as well
    std::unordered_set<const memory_region *> regions;

    domain(fabric &parent, void *context); // throws messaging_failure

    std::uint64_t next_key = first_unwritable_key;

    // Whether a region of this key has all of this for the far end to read.
    [[nodiscard]] bool readable(std::uint64_t address, std::uint64_t bytes, std::uint64_t key) const;
};

int open_fabric(fi_fabric_attr *attributes, fid_fabric **made, void *context);

// What makes an object for libfabric: failures become its errors.
int failure_code(const char *what, const std::exception &failure);

} // namespace mrc::fi_provider
