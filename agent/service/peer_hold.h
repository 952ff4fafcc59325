// SPDX-License-Identifier: Apache-2.0
// The right to use a peer: as long as it lives, the peer's rows, its path group and its entry in the worker stay.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "datapath/worker_peer.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

class peer_directory;

class peer_hold
{
public:
    peer_hold() = default; // holds nothing
    // The directory has counted it. `worker`: whose queue pair it is for, if it is for one.
    peer_hold(peer_directory &directory, host_place host, std::uint64_t profile, std::optional<unsigned> worker)
        : directory_{&directory}, host_{host}, profile_{profile}, worker_{worker}
    {
    }
    peer_hold(peer_hold &&other) noexcept
        : directory_{std::exchange(other.directory_, nullptr)}, host_{other.host_}, profile_{other.profile_},
          worker_{other.worker_}
    {
    }
    peer_hold &operator=(peer_hold &&other) noexcept
    {
        std::swap(directory_, other.directory_);
        std::swap(host_, other.host_);
        std::swap(profile_, other.profile_);
        std::swap(worker_, other.worker_);
        return *this;
    }
    ~peer_hold();

private:
    peer_directory *directory_ = nullptr;
    host_place host_;
    std::uint64_t profile_ = 0;
    std::optional<unsigned> worker_;
};

// What uses the peer, a queue pair or a request, is gone from the worker before `hold` is.
struct held_peer {
    datapath::worker_peer peer;
    peer_hold hold;
};

} // namespace mrc::service
