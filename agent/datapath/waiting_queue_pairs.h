// SPDX-License-Identifier: Apache-2.0
// Queue pairs that have sent all they have, and wait: a turn of theirs would do nothing. A packet, a bell or a deadline
// gives each its turn again, by itself. What this sees to is what happens to many at once: a way to their peer is lost,
// or found, and what flies there has to be sent again without delay.
//
// By peer, for all queue pairs to a peer have the same ways (protocol/send/requester_state.h: route). Looking costs
// nothing as long as nothing has happened to any way (protocol::local_ports), and then what there are peers that
// somebody waits for; those of idle queue pairs cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "datapath/linked_list.h"
#include "datapath/worker_client.h"
#include "protocol/types.h"

namespace mrc::datapath
{

// Where the queue pairs to one peer wait.
struct waiting_room {
    worker_peer peer;
    std::size_t queue_pairs = 0; // waiting or not
    linked_list<worker_qp, &worker_qp::waiting> members;
    list_links<waiting_room> links;
    // The ways as they were when somebody began to wait.
    protocol::plane_mask carrying;
    std::uint32_t silences = 0;
};

class waiting_queue_pairs
{
public:
    // The worker gets, or loses, a queue pair; it does not wait.
    void enter(worker_qp &qp);
    void leave(worker_qp &qp);

    // Precondition: it has just looked at its paths itself.
    void add(worker_qp &qp);
    void remove(worker_qp &qp);

    // Calls `changed(worker_qp &)` for all whose ways are not what they were; they do not wait any more. True if any.
    template <typename Visitor>
    bool look(Visitor changed);

    // At one of the peers by look(), since the beginning: what all this costs.
    [[nodiscard]] std::uint64_t looks() const { return looks_; }

private:
    struct host_paths {
        const protocol::port_status *host = nullptr;
        const protocol::path_group *paths = nullptr;
        bool operator==(const host_paths &) const = default;
    };
    struct hash {
        std::size_t operator()(const host_paths &key) const
        {
            return std::hash<const void *>{}(key.host) * 31 + std::hash<const void *>{}(key.paths);
        }
    };

    // The ports of this host that the paths of some rooms leave by: those of the fabric, and the own host's.
    struct ports_in_use {
        const protocol::local_ports *ports = nullptr;
        std::size_t rooms = 0;
        // At the last look; optional: there was none.
        std::optional<protocol::plane_mask> up{};
        std::uint64_t ways_changed = 0;
    };

    // False: they are as when it was called last.
    static bool note_ways(waiting_room &room);
    void use_ports(const protocol::local_ports &ports);
    void release_ports(const protocol::local_ports &ports);
    // Has anything happened to them, or to a way that begins there, since it was called last?
    [[nodiscard]] bool note_ports();

    std::unordered_map<host_paths, std::unique_ptr<waiting_room>, hash> rooms_;
    linked_list<waiting_room, &waiting_room::links> occupied_;
    std::vector<ports_in_use> ports_;
    std::uint64_t looks_ = 0;
};

template <typename Visitor>
bool waiting_queue_pairs::look(Visitor changed)
{
    if (!note_ports())
        return false;
    bool any = false;
    waiting_room *next = nullptr;
    for (waiting_room *room = occupied_.front(); room != nullptr; room = next) {
        next = room->links.next;
        ++looks_;
        if (!note_ways(*room))
            continue;
        any = true;
        while (worker_qp *qp = room->members.front()) {
            remove(*qp);
            changed(*qp);
        }
    }
    return any;
}

} // namespace mrc::datapath
