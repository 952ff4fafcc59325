// SPDX-License-Identifier: Apache-2.0
// Shared pages that change while the worker reads them, and the eventfd that wakes it.
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/eventfd.h>

#include "attacks.h"

namespace mrc::hostile
{

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using protocol::qp_state;

namespace
{

constexpr std::uint32_t ring_depth = 64;
constexpr std::size_t memory_bytes = 1 << 20;

// Two ends that both belong to the attacker, one at each daemon.
struct pair {
    explicit pair(const targets &where) : here{where.attacked, ring_depth}, there{where.other, ring_depth}
    {
        connect(here, there);
    }
    raw_client here;
    raw_client there;
};

void store(std::span<std::byte> page, std::size_t word, std::uint32_t value)
{
    std::atomic_ref{reinterpret_cast<std::uint32_t *>(page.data())[word]}.store(value, std::memory_order_relaxed);
}

// Mostly what the worker could take for a request, for what is plainly wrong goes no further.
session::send_entry nearly_right_request(random_engine &random, const raw_region &from, const raw_region &to)
{
    session::send_entry entry;
    entry.id = random();
    entry.remote_address = to.address + random() % memory_bytes;
    entry.rkey = random() % 32 != 0 ? to.key : static_cast<std::uint32_t>(random());
    entry.flags = static_cast<std::uint32_t>(random() % 16);
    entry.pieces = static_cast<std::uint32_t>(random() % (random() % 8 == 0 ? 64 : 5));
    entry.first = {.address = from.address + random() % memory_bytes,
                   .length = static_cast<std::uint32_t>(random() % (random() % 8 == 0 ? UINT32_MAX : 8192)),
                   .lkey = random() % 32 != 0 ? from.key : static_cast<std::uint32_t>(random())};
    return entry;
}

// The kernel's number of an eventfd.
std::string identity_of(int eventfd)
{
    std::ifstream info{"/proc/self/fdinfo/" + std::to_string(eventfd)};
    std::string key;
    std::string value;
    while (info >> key)
        if (key == "eventfd-id:" && info >> value)
            break;
    return value;
}

void scribble_once(random_engine &random, raw_client &client, const raw_region &from, const raw_region &to)
{
    const std::array pages{client.first.rings.bytes(), client.completions.bytes(), client.bells.bytes()};
    const auto page = pages[random() % pages.size()];
    const std::size_t words = page.size() / sizeof(std::uint32_t);
    switch (random() % 6) {
    case 0: // positions: the first words of each ring's header
        store(page, 16 * (random() % std::min<std::size_t>(words / 16, 6)), static_cast<std::uint32_t>(random()));
        break;
    case 1:
        store(page, random() % words, static_cast<std::uint32_t>(random() % 128));
        break;
    case 2:
        store(page, random() % words, static_cast<std::uint32_t>(random()));
        break;
    case 3: { // whole requests where requests are, which the worker may be copying
        const auto entry = nearly_right_request(random, from, to);
        const std::size_t at = 2 * sizeof(session::ring_header) + random() % ring_depth * sizeof(entry);
        std::memcpy(client.first.rings.bytes().data() + at, &entry, sizeof(entry));
        break;
    }
    case 4: // the producer a little further, as after a post
        std::atomic_ref{*static_cast<std::uint32_t *>(client.first.rings.get())}.fetch_add(
            static_cast<std::uint32_t>(random() % 4));
        break;
    default:
        static_cast<session::bell_page *>(client.bells.get())->ring(static_cast<std::uint32_t>(random() % 4096));
    }
}

} // namespace

void rewrite_rings(const attack_terms &terms)
{
    random_engine random{terms.seed};
    std::vector<std::byte> memory(2 * memory_bytes);
    const std::span source = std::span{memory}.first(memory_bytes);
    const std::span target = std::span{memory}.subspan(memory_bytes);
    for (const auto end = clock::now() + terms.time; clock::now() < end;) {
        pair ends{terms.where};
        const raw_region from = ends.here.register_process(source.data(), source.size());
        const raw_region to = ends.there.register_process(target.data(), target.size());
        const raw_region back = ends.here.register_process(target.data(), target.size());
        std::atomic<bool> over = false;
        std::thread scribbler{[&, seed = random()] {
            random_engine own{seed};
            while (!over) {
                scribble_once(own, ends.here, from, to);
                scribble_once(own, ends.there, from, back);
            }
        }};
        for (const auto life = std::min(end, clock::now() + 300ms); clock::now() < life;) {
            ends.here.ring();
            ends.there.ring();
            constexpr std::array states{qp_state::error, qp_state::send_queue_drained, qp_state::ready_to_send};
            if (random() % 256 == 0) // refused or not, as its state may be
                (void)ends.here.modify(states[random() % states.size()]);
        }
        over = true;
        scribbler.join();
        (void)ends.here.modify(qp_state::error);
        (void)ends.here.modify(qp_state::reset);
    }
}

// A failed queue pair's requests are flushed as they come: they must not come faster than the worker goes on.
void post_without_end(const attack_terms &terms)
{
    pair ends{terms.where};
    for (const raw_client *one : {&ends.here, &ends.there})
        REQUIRE(one->modify(qp_state::error));
    const auto chase = [](session::ring_header &ring) {
        const std::uint32_t seen = std::atomic_ref{ring.consumer}.load(std::memory_order_relaxed);
        std::atomic_ref{ring.producer}.store(seen + ring_depth / 2, std::memory_order_release);
    };
    auto *headers = static_cast<session::ring_header *>(ends.here.first.rings.get()); // of sends, then of receives
    for (const auto end = clock::now() + terms.time; clock::now() < end;) {
        ends.here.ring();
        for (int n = 0; n < 10'000; ++n) {
            chase(headers[0]);
            chase(headers[1]);
        }
    }
    REQUIRE(raw_session{terms.where.attacked}.ask(session::request_kind::hello).done());
}

// Whoever reads an eventfd takes its signal from the others who wait for it: nobody else may have the same.
void steal_wake_ups(const attack_terms &terms)
{
    const raw_client thief{terms.where.attacked, ring_depth};
    const raw_client other{terms.where.attacked, ring_depth};
    const int bell = thief.doorbell.get();
    REQUIRE(!identity_of(bell).empty() && identity_of(bell) != identity_of(other.doorbell.get()));
    const int flags = ::fcntl(bell, F_GETFL);
    REQUIRE(flags >= 0);
    const auto end = clock::now() + terms.time;
    while (clock::now() < end - terms.time / 4) {
        eventfd_t rings = 0;
        (void)::eventfd_read(bell, &rings);
    }
    // It fills the counter, and makes each side that reads or writes wait for the other.
    REQUIRE(::fcntl(bell, F_SETFL, flags & ~O_NONBLOCK) == 0);
    std::thread filler{[bell] {
        for (int n = 0; n < 8; ++n)
            (void)::eventfd_write(bell, UINT64_MAX - 1);
    }};
    while (clock::now() < end)
        REQUIRE(thief.session.ask(session::request_kind::describe).done());
    ::fcntl(bell, F_SETFL, flags);
    eventfd_t rings = 0;
    for (int n = 0; n < 8; ++n)
        (void)::eventfd_read(bell, &rings);
    filler.detach(); // waits for the daemon to read, or not: it ends with the process
}

} // namespace mrc::hostile
