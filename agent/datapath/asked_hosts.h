// SPDX-License-Identifier: Apache-2.0
// Which of the hosts behind a T0 is asked on which of its paths, and what the answers say of the hosts.
//
// Paths are judged by the answers of hosts, and one host may have lost its own link to the T0. So a path is asked of
// hosts that can be reached on its plane (their port status, and what peer_planes suspects), and is silent when no host
// in use answers there, not when one does not.
//
// what is asked, and the path's last question     goes to
// any, not answered                               the next host that can be reached there
// a probe of a bad path, answered                 the same host: three answers in a row restore the path
// else                                            each host in its turn; in one round one host on all planes
//
// Questions about the ways that answers take (reverse_evs.h) come too often, and are given too little time, to say
// anything of hosts: each goes to the next one, and is not remembered.
//
// An answer to what another host had left unanswered says that the path delivers, and that something of the plane does
// not reach that other host: three times so, while it answers on other planes, and the plane is suspected toward it
// (peer_planes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datapath/worker_peer.h"

namespace mrc::datapath
{

class asked_hosts
{
public:
    // `first` is asked until another one is known to be in use.
    asked_hosts(const protocol::path_group &paths, const worker_peer &first);

    // Traffic goes to the host. Quick when hosts are told in the same order each time. True: it is a new one.
    bool on_use(const worker_peer &host, protocol::instant now);
    // Of those that nobody uses any more the last one stays.
    void forget_unused(protocol::instant now);
    // False: there are no others; it has to be told one, by on_use(), before it is asked.
    [[nodiscard]] bool forget(const host_set &gone);

    [[nodiscard]] bool contain(const worker_peer &host) const;
    // Planes on which at least one of the hosts can be reached.
    [[nodiscard]] protocol::plane_mask reachable() const;
    // Whom to ask on that path: of those that can be reached on its plane, if there are any.
    [[nodiscard]] const worker_peer &ask(std::uint16_t slot, std::uint16_t request_id, protocol::instant now);
    void on_answer(const worker_peer &host, std::uint16_t request_id, protocol::instant now);

private:
    // A host that answers later has not missed the question, nor has it answered.
    static constexpr protocol::duration patience = protocol::probe_config{}.slowest_answer;
    // As long as sockets pause, and longer than two looks at what is in use are apart.
    static constexpr protocol::duration memory = std::chrono::seconds{1};

    struct host_in_use {
        worker_peer peer;
        protocol::instant used = protocol::instant::min();
    };
    struct question {
        const protocol::port_status *ports = nullptr; // of the host that was asked; null: none
        protocol::peer_planes *planes = nullptr;      // its
        protocol::instant sent_at;
    };
    struct record {
        question last;
        question missed; // the one before, when it was not answered
        std::uint16_t request_id = 0;
        bool awaiting = false;
    };

    [[nodiscard]] std::size_t position_of(const protocol::port_status *ports) const;
    [[nodiscard]] std::size_t first_choice(std::uint16_t slot, std::uint16_t request_id, protocol::instant now);
    void report_missed(const question &missed, protocol::plane_index plane, protocol::instant now) const;

    const protocol::path_group *paths_;
    std::vector<host_in_use> hosts_; // never empty, but for what forget() says
    std::vector<record> asked_;      // by slot
    std::size_t next_used_ = 0;      // in hosts_: the one that on_use() expects
    std::size_t round_ = 0;
    protocol::instant round_at_ = protocol::instant::min();
};

} // namespace mrc::datapath
