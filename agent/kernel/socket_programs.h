// SPDX-License-Identifier: Apache-2.0
// The programs for ordinary sockets (bpf/host_sockets.bpf.c): loaded once, attached to any number of cgroups by links
// that are pinned nowhere, so that none outlives this process.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"

struct host_sockets_bpf;

namespace mrc::kernel
{

// As they are pinned.
inline constexpr std::array socket_maps{"ordinary", "ordinary_of", "adopted", "socket_notes"};

class socket_programs
{
public:
    // Throws startup_error. Needs CAP_BPF and CAP_NET_ADMIN; attaching, later, needs none.
    explicit socket_programs(const mrc_sockets_config &config);
    socket_programs(const socket_programs &) = delete;
    socket_programs &operator=(const socket_programs &) = delete;
    ~socket_programs();

    // Those that are pinned, by name; borrowed.
    [[nodiscard]] std::map<std::string, int> maps() const;

    // False with errno set when the map is full.
    [[nodiscard]] bool set_ordinary(const mrc_ip &ordinary, const mrc_ordinary_row &row) const;
    [[nodiscard]] bool set_ordinary_of(const mrc_ip &address, const mrc_ip &ordinary) const;

    // All programs to the cgroup that the descriptor, of its directory, names. They go with the links, or the cgroup.
    [[nodiscard]] std::expected<std::vector<unique_fd>, std::error_code> attach(int cgroup) const;
    // False when the cgroup of a link is gone.
    [[nodiscard]] static bool is_attached(const unique_fd &link);

    // Of a cgroup that something is attached to, by its id.
    [[nodiscard]] std::optional<mrc_adopted_row> adopted(std::uint64_t cgroup) const;
    [[nodiscard]] bool set_adopted(std::uint64_t cgroup, const mrc_adopted_row &row) const;

private:
    host_sockets_bpf *object_;
};

} // namespace mrc::kernel
