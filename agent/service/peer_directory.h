// SPDX-License-Identifier: Apache-2.0
// The hosts this one can speak to: their path groups, their rows in the `paths` and `peers` maps, their entry in the
// worker.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <string>

#include "datapath/host_programs.h"
#include "datapath/worker.h"
#include "protocol/path_group.h"
#include "service/fabric.h"

namespace mrc::service
{

class peer_directory
{
public:
    // All is borrowed and outlives the directory. `local` is the mask of usable ports that every group reads.
    peer_directory(const daemon_config &config, const fabric &rules, datapath::host_programs &programs,
                   datapath::worker &worker, const protocol::plane_mask &local);

    // The peer at `address`, added on first use. The error says what is wrong with the address.
    [[nodiscard]] std::expected<datapath::worker_peer, std::string> find_or_add(const mrc_ip &address);

    // Adds every host of a fabric that is small enough to list, so that the overlay reaches hosts without a queue pair.
    void add_all_if_small();

private:
    [[nodiscard]] std::expected<protocol::path_group *, std::string> group_for(std::uint32_t leaf);
    // False when the `peers` map is full; nothing of this host is in it then.
    [[nodiscard]] bool add(endpoint host, protocol::path_group &group, const path_group &rows);

    const daemon_config &config_;
    const fabric &rules_;
    datapath::host_programs &programs_;
    datapath::worker &worker_;
    const protocol::plane_mask &local_;
    path_table table_;
    std::map<std::uint32_t, std::unique_ptr<protocol::path_group>> groups_; // by leaf
    std::map<endpoint, datapath::worker_peer> peers_;
};

} // namespace mrc::service
