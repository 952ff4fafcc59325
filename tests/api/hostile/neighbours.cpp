// SPDX-License-Identifier: Apache-2.0
// Other clients of the same host, on the attacker's worker and on every other: what it knows of theirs is of no use to
// it, and however many queue pairs it keeps busy, they go on. The other daemon may be the attacked one: then both ends
// of all queue pairs are within the host.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "attacks.h"
#include "mrc/abi/maps.h"
#include "protocol/qp_config.h"

namespace mrc::hostile
{

using clock = std::chrono::steady_clock;
using protocol::completion_status;
using protocol::qp_state;
using session::request_kind;

namespace
{

constexpr std::uint32_t requests = 16;
constexpr std::uint32_t write_bytes = 4 << 10;
constexpr std::size_t region_bytes = std::size_t{requests} * write_bytes;
constexpr std::byte of_victim{0x5C};
constexpr std::byte of_attacker{0xD7};
// Enough that each worker has one, whatever else it has.
constexpr std::size_t neighbours = std::size_t{2} * MRC_MAX_WORKERS;

session::send_entry write_of(const raw_region &from, const raw_region &to, std::uint32_t length)
{
    session::send_entry entry;
    entry.remote_address = to.address;
    entry.rkey = to.key;
    entry.pieces = 1;
    entry.flags = session::send_signaled;
    entry.first = {.address = from.address, .length = length, .lkey = from.key};
    return entry;
}

bool is_all(const std::vector<std::byte> &memory, std::byte value)
{
    return std::ranges::all_of(memory, [value](std::byte one) { return one == value; });
}

raw_region moved(raw_region region, std::uint64_t by)
{
    region.address += by;
    return region;
}

// Two clients with memory each, and their queue pair.
struct connected {
    connected(const targets &where, std::byte fill)
        : here{where.attacked, requests}, there{where.other, requests}, near(region_bytes, fill),
          far(region_bytes, fill), from{here.register_process(near.data(), region_bytes)},
          to{there.register_process(far.data(), region_bytes)}
    {
        connect(here, there);
    }

    static completion_status write(raw_client &by, const raw_region &from, const raw_region &to)
    {
        REQUIRE(by.post(write_of(from, to, write_bytes)));
        by.ring();
        return completion_status{by.next_status()};
    }

    raw_client here;
    raw_client there;
    std::vector<std::byte> near;
    std::vector<std::byte> far;
    raw_region from;
    raw_region to;
};

enum class sender { here, there };

// By a queue pair of the attacker's own, which has failed then; its memory holds what it held.
template <typename Forge>
void expect(completion_status wanted, const targets &where, sender by, Forge forge)
{
    connected own{where, of_attacker};
    raw_region from = by == sender::here ? own.from : own.to;
    raw_region to = by == sender::here ? own.to : own.from;
    forge(from, to);
    REQUIRE(connected::write(by == sender::here ? own.here : own.there, from, to) == wanted);
    REQUIRE(is_all(own.near, of_attacker) && is_all(own.far, of_attacker));
}

void reach_for_memory(const targets &where, const connected &victim, random_engine &random)
{
    for (const sender by : {sender::here, sender::there}) {
        const raw_region &source = by == sender::here ? victim.from : victim.to;
        const raw_region &target = by == sender::here ? victim.to : victim.from;
        expect(completion_status::local_protection_error, where, by, [&](auto &from, auto &) { from = source; });
        expect(completion_status::remote_access_error, where, by, [&](auto &, auto &to) { to = target; });
        // Another use of the same row, and other rows.
        const auto near_key = static_cast<std::uint32_t>(1 + random() % 8) << (random() % 2 == 0 ? 0 : 16);
        expect(completion_status::remote_access_error, where, by,
               [&](auto &, auto &to) { to = {.key = target.key + near_key, .address = target.address}; });
    }
}

void reach_for_objects(const targets &where, const connected &victim)
{
    const connected own{where, of_attacker};
    const raw_session &session = own.here.session;
    REQUIRE(!session.ask(request_kind::deregister_memory, victim.from.key).done());
    for (const request_kind kind : {request_kind::query_qp, request_kind::report_qp, request_kind::destroy_qp})
        REQUIRE(!session.ask(kind, victim.here.first.numbers.qpn).done());
    for (const qp_state state : {qp_state::error, qp_state::reset})
        REQUIRE(!own.here.modify(victim.here.first.numbers.qpn, state));
    // Whatever it then sent would come from the right host.
    const raw_client impostor{where.attacked, requests};
    REQUIRE(impostor.modify(qp_state::init) && !impostor.modify(qp_state::ready_to_receive, &victim.there));
}

void leave_ranges(const targets &where)
{
    constexpr std::uint64_t before = UINT64_MAX; // - 1
    const std::uint64_t beyond = region_bytes - write_bytes + 1;
    for (const sender by : {sender::here, sender::there})
        for (const std::uint64_t distance : {before, beyond, UINT64_MAX - write_bytes / 2}) {
            expect(completion_status::local_protection_error, where, by,
                   [&](auto &from, auto &) { from = moved(from, distance); });
            expect(completion_status::remote_access_error, where, by,
                   [&](auto &, auto &to) { to = moved(to, distance); });
        }
}

// Once the daemon has said that it is deregistered, memory is its owner's, whatever is on its way to it.
void deregister_in_traffic(const targets &where)
{
    connected own{where, of_attacker};
    for (std::uint32_t n = 0; n < requests; ++n) {
        const std::uint64_t offset = std::uint64_t{n} * write_bytes;
        REQUIRE(own.here.post(write_of(moved(own.from, offset), moved(own.to, offset), write_bytes)));
    }
    own.here.ring();
    REQUIRE(own.there.session.ask(request_kind::deregister_memory, own.to.key).done());
    std::ranges::fill(own.far, of_victim);
    for (std::uint32_t n = 0; n < requests; ++n)
        (void)own.here.next_status();
    REQUIRE(is_all(own.far, of_victim));
}

// Further queue pairs of two clients, each with its peer.
struct crowd {
    static constexpr std::size_t most = 64;

    explicit crowd(const targets &where) : here{where.attacked, requests}, there{where.other, requests}
    {
        for (std::size_t n = 0; n < most; ++n) {
            senders.emplace_back(here.create_another_qp());
            receivers.emplace_back(there.create_another_qp());
            const raw_end a = here.end_of(senders.back());
            const raw_end b = there.end_of(receivers.back());
            REQUIRE(here.modify(a.qpn, qp_state::init) && there.modify(b.qpn, qp_state::init));
            REQUIRE(here.modify(a.qpn, qp_state::ready_to_receive, &b));
            REQUIRE(there.modify(b.qpn, qp_state::ready_to_receive, &a));
            REQUIRE(here.modify(a.qpn, qp_state::ready_to_send) && there.modify(b.qpn, qp_state::ready_to_send));
        }
    }

    // All that their rings take; how many requests that was.
    std::uint64_t post(const raw_region &from, const raw_region &to)
    {
        session::send_entry entry = write_of(from, to, write_bytes);
        entry.flags = 0; // completions would fill their queue
        std::uint64_t posted = 0;
        for (raw_queue_pair &one : senders) {
            while (one.sends.push(entry))
                ++posted;
            here.ring(one);
        }
        return posted;
    }

    raw_client here;
    raw_client there;
    std::vector<raw_queue_pair> senders;
    std::vector<raw_queue_pair> receivers;
};

// Queue pairs that come and go for nothing.
void make_and_destroy(const targets &where, const std::atomic<bool> &over)
{
    const raw_client client{where.attacked, requests};
    while (!over) {
        const raw_reply made = client.create_another_qp();
        REQUIRE(made.done() && client.session.ask(request_kind::destroy_qp, made.body.qp.qpn).done());
    }
}

void keep_busy(const targets &where, const std::atomic<bool> &over, std::atomic<std::uint64_t> &posted)
{
    std::vector<std::byte> memory(std::size_t{2} * write_bytes);
    crowd all{where};
    const raw_region from = all.here.register_process(memory.data(), write_bytes);
    const raw_region to = all.there.register_process(memory.data() + write_bytes, write_bytes);
    while (!over)
        posted += all.post(from, to);
}

} // namespace

void reach_for_neighbours(const attack_terms &terms)
{
    const auto end = clock::now() + terms.time;
    random_engine random{terms.seed};
    std::vector<connected> victims;
    victims.reserve(neighbours);
    for (std::size_t n = 0; n < neighbours; ++n)
        victims.emplace_back(terms.where, of_victim);
    leave_ranges(terms.where);
    do {
        for (connected &victim : victims) {
            reach_for_memory(terms.where, victim, random);
            reach_for_objects(terms.where, victim);
            deregister_in_traffic(terms.where);
            REQUIRE(connected::write(victim.here, victim.from, victim.to) == completion_status::success);
            REQUIRE(connected::write(victim.there, victim.to, victim.from) == completion_status::success);
            REQUIRE(is_all(victim.near, of_victim) && is_all(victim.far, of_victim));
        }
    } while (clock::now() < end);
}

void storm(const attack_terms &terms)
{
    std::vector<connected> beside;
    beside.reserve(neighbours);
    for (std::size_t n = 0; n < neighbours; ++n)
        beside.emplace_back(terms.where, of_victim);
    std::atomic<bool> over = false;
    std::atomic<std::uint64_t> posted = 0;
    std::thread maker{[&] { make_and_destroy(terms.where, over); }};
    std::thread writer{[&] { keep_busy(terms.where, over, posted); }};
    const auto end = clock::now() + terms.time;
    // Each of them has an answer within the patience of next_status(), every time.
    std::uint64_t rounds = 0;
    for (; clock::now() < end || posted == 0 || rounds == 0; ++rounds)
        for (connected &one : beside)
            REQUIRE(connected::write(one.here, one.from, one.to) == completion_status::success);
    over = true;
    maker.join();
    writer.join();
    std::printf("storm: %zu neighbours wrote %ju times each, beside %ju writes\n", neighbours, std::uintmax_t{rounds},
                std::uintmax_t{posted.load()});
}

} // namespace mrc::hostile
