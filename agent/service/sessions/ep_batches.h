// SPDX-License-Identifier: Apache-2.0
// A controller's requests to other hosts (mrc_ctl_ep_batch_send_wait), from the session to the worker and back: which
// host and path each names, and what became of them. For the service thread.
//
// A request that names no host or path is not sent; the others are, and their responses come beside EINVAL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "datapath/worker.h"
#include "service/control/controller.h"
#include "service/fabric_rules.h"
#include "service/peer_directory.h"

namespace mrc::service
{

class ep_batches
{
public:
    using peer_finder = std::function<std::expected<held_peer, peer_refusal>(const mrc_ip &address)>;

    // All is borrowed and outlives this.
    ep_batches(const fabric_rules &rules, peer_finder find, const worker_crew &workers);
    ep_batches(const ep_batches &) = delete;
    ep_batches &operator=(const ep_batches &) = delete;
    ~ep_batches();

    // EINVAL when no request can be sent, EAGAIN while the session has a batch under way, or all have too many
    // requests.
    session::outcome<> start(const control::ep_batch &asked);
    // What the session has under way is dropped.
    void end_session(std::uint64_t session);

    struct finished {
        std::uint64_t session = 0;
        std::vector<std::byte> reply;
    };
    [[nodiscard]] std::optional<finished> take_finished();

private:
    struct resolved {
        protocol::endpoint_request request;
        datapath::worker_batch::destination to;
        peer_hold hold;
    };
    struct running {
        std::uint64_t session = 0;
        std::vector<std::uint16_t> ids; // of the requests that were sent
        std::string invalid;            // what the others lack; empty: there are none
        std::vector<peer_hold> holds;   // of those that are asked
        datapath::worker_batch batch;
    };

    [[nodiscard]] std::expected<resolved, std::string> resolve(const session::ep_request &request,
                                                               session::ep_operation operation);
    [[nodiscard]] std::expected<protocol::path_choice, std::string>
    path_of(const session::ep_request &request, host_place host, const datapath::worker_peer &peer) const;
    [[nodiscard]] std::expected<std::uint32_t, std::string> number_of(const session::ep_request &request,
                                                                      host_place host) const;
    [[nodiscard]] static std::vector<std::byte> reply_of(const running &over);

    const fabric_rules &rules_;
    peer_finder find_;
    datapath::worker &worker_; // the first
    std::list<running> running_;
};

} // namespace mrc::service
