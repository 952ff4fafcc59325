// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: deficit round robin between clients, and between the queue pairs of each (Shreedhar and Varghese,
// 1995). All that the worker does for a client is paid from the client's allowance, in bytes:
//
// packet sent or received         its payload, at least `least_packet_cost`
// request taken or flushed,       `entry_cost`
// completion delivered
//
// An allowance that a round cannot use up stays for the next one; who has nothing to do keeps none. Packets arrive
// without being asked for: they are paid afterwards, by a debt that the client's next turns pay before they do
// anything. It is at most one turn's, for whoever receives has to acknowledge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datapath/worker_client.h"
#include "protocol/types.h"

namespace mrc::datapath
{

// Bytes per turn. What a small message waits for, at most, is the turns of the clients before its own.
inline constexpr std::int64_t client_quantum = 65536;
inline constexpr std::int64_t queue_pair_quantum = 32768;
// A packet, however short, occupies a slot; an entry takes about a quarter of the time of such a packet.
inline constexpr std::uint32_t least_packet_cost = 256;
inline constexpr std::uint32_t entry_cost = 64;

[[nodiscard]] constexpr std::uint32_t packet_cost(std::uint32_t payload_bytes)
{
    return std::max(payload_bytes, least_packet_cost);
}

// What ends a round of turns: arrivals and doorbells have to be looked at, too.
struct turn_limits {
    std::size_t packets = 256;
    std::size_t entries = 1024; // one turn's worth
    std::size_t burst = 64;     // packets between flushes; requests taken at a time
};

// What the turns are made of. Work:
//   bool ready(const worker_qp &)                         another packet of it can be sent
//   instant now()                                         read as late as a turn allows, for time stamps
//   size_t deliver(worker_qp &, size_t most)              completions; how many
//   size_t take(worker_qp &, size_t most, instant)        requests; how many
//   uint32_t send(worker_qp &, instant)                   one packet; its cost, 0 when nothing may be sent now
//   void visited(worker_qp &, instant)                    its turn, which began then, is over
//   bool retire(worker_qp &)                              it has nothing to do any more, and leaves the turns
//   void flush()                                          packets leave
//   bool others_wait(const worker_client &)               other clients have requests that nobody has looked at
class turn_scheduler
{
public:
    explicit turn_scheduler(const turn_limits &limits) : limits_{limits} {}

    // The queue pair may have something to do.
    void activate(worker_qp &qp);
    void deactivate(worker_qp &qp);
    // A packet of so much payload has arrived for one of the client's queue pairs.
    static void charge_arrival(worker_client &client, std::uint32_t payload_bytes)
    {
        client.allowance = std::max(client.allowance - packet_cost(payload_bytes), -client_quantum);
    }

    // One round of turns, in which so many packets have been sent already. Returns what was done: packets and entries.
    template <typename Work>
    std::size_t run(std::size_t packets_before, Work work);

    template <typename Condition>
    [[nodiscard]] bool any_active(Condition condition) const
    {
        return std::ranges::any_of(clients_, [&](const worker_client *client) {
            return std::ranges::any_of(client->active, [&](const worker_qp *qp) { return condition(*qp); });
        });
    }

private:
    // What has been done in this round.
    struct tally {
        std::size_t packets = 0;
        std::size_t flushed = 0; // of packets
        std::size_t entries = 0;
        std::int64_t spent = 0;
        bool blocked = false; // some packet could not be tried: there is no room where it would leave
    };

    [[nodiscard]] bool round_full() const
    {
        return tally_.packets >= limits_.packets || tally_.entries >= limits_.entries;
    }
    [[nodiscard]] std::size_t done() const { return tally_.packets + tally_.entries; }
    [[nodiscard]] std::size_t entries_for(const worker_qp &qp) const;
    void pay(worker_qp &qp, std::int64_t cost);
    void pay_entries(worker_qp &qp, std::size_t count);
    static void remove(worker_client &client, std::size_t place);
    void remove_client(std::size_t place);
    void resume();

    template <typename Work>
    void serve(worker_client &client, Work &work);
    template <typename Work>
    bool visit(worker_qp &qp, Work &work);

    turn_limits limits_;
    std::vector<worker_client *> clients_;       // with a queue pair that has something to do
    std::size_t turn_ = 0;                       // whose of them it is
    const worker_client *interrupted_ = nullptr; // by the end of the round: it goes on with what it may still do
    tally tally_;
};

template <typename Work>
std::size_t turn_scheduler::run(std::size_t packets_before, Work work)
{
    tally_ = {.packets = packets_before};
    resume();
    std::size_t fruitless = 0; // clients in a row that did nothing
    while (fruitless < clients_.size() && !round_full()) {
        turn_ %= clients_.size();
        worker_client &client = *clients_[turn_];
        if (client.allowance <= 0)
            client.allowance += client_quantum;
        if (client.allowance <= 0) { // this turn has paid for what arrived
            ++turn_;
            fruitless = 0;
            continue;
        }
        const std::size_t before = done();
        serve(client, work);
        fruitless = done() == before ? fruitless + 1 : 0;
        if (client.active.empty()) {
            remove_client(turn_);
            fruitless = 0;
        } else if (client.allowance <= 0 || !round_full()) {
            ++turn_;
        } else {
            interrupted_ = &client;
        }
        if (tally_.spent >= client_quantum && work.others_wait(client))
            break; // their requests have to be taken before they can have a turn
    }
    work.flush();
    return done();
}

// A client's turn: its queue pairs take turns in it, until its allowance is used up or none has anything to do.
template <typename Work>
void turn_scheduler::serve(worker_client &client, Work &work)
{
    tally_.blocked = false;
    std::size_t fruitless = 0;
    while (client.allowance > 0 && fruitless < client.active.size() && !round_full()) {
        client.turn %= client.active.size();
        const std::size_t before = done();
        const bool stays = visit(*client.active[client.turn], work);
        if (done() != before)
            fruitless = 0;
        else if (stays)
            ++fruitless;
        // Port by port, a long queue would leave one plane's packets behind the others' answers: that looks like loss.
        if (tally_.packets - tally_.flushed >= limits_.burst) {
            work.flush();
            tally_.flushed = tally_.packets;
        }
    }
    if (fruitless >= client.active.size() && !tally_.blocked)
        client.allowance = std::min<std::int64_t>(client.allowance, 0);
}

// Completions first: they make room for requests. False when the queue pair has left the turns.
template <typename Work>
bool turn_scheduler::visit(worker_qp &qp, Work &work)
{
    worker_client &client = *qp.client;
    if (qp.allowance <= 0)
        qp.allowance += queue_pair_quantum;
    const protocol::instant now = work.now();
    const std::size_t most_completions = entries_for(qp);
    const std::size_t delivered = work.deliver(qp, most_completions);
    pay_entries(qp, delivered);
    const std::size_t most_requests = std::min(entries_for(qp), limits_.burst);
    const std::size_t taken = work.take(qp, most_requests, now);
    pay_entries(qp, taken);
    bool sent_all = false;
    while (!sent_all && qp.allowance > 0 && client.allowance > 0 && tally_.packets < limits_.packets) {
        if (!work.ready(qp)) {
            tally_.blocked = true;
            break;
        }
        const std::uint32_t cost = work.send(qp, now);
        sent_all = cost == 0;
        tally_.packets += sent_all ? 0 : 1;
        pay(qp, cost);
    }
    work.visited(qp, now);
    const bool exhausted = sent_all && delivered < most_completions && taken < most_requests;
    if (exhausted)
        qp.allowance = 0;
    if (exhausted && work.retire(qp)) {
        remove(client, client.turn);
        return false;
    }
    if (exhausted || qp.allowance <= 0 || tally_.blocked)
        ++client.turn;
    return true;
}

} // namespace mrc::datapath
