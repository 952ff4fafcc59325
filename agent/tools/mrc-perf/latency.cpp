// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/latency.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>

#include "tools/mrc-perf/error.h"
#include "tools/mrc-perf/percentiles.h"

namespace mrc::perf
{

namespace
{

// Polls between two looks at completions, TCP and signals: their system calls would be most of a short round trip.
constexpr unsigned polls_per_look = 256;
constexpr std::chrono::milliseconds longest_sleep{100};

std::vector<std::uint64_t> last_bytes(std::uint64_t size, std::uint64_t payload_bytes)
{
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t end = payload_bytes; end < size; end += payload_bytes)
        offsets.push_back(end - 1);
    offsets.push_back(size - 1);
    return offsets;
}

std::byte mark_of(std::uint64_t number) // never zero, which fresh memory has
{
    return static_cast<std::byte>(number % 255 + 1);
}

} // namespace

ping_pong::ping_pong(endpoint &local, channel &peer, signal_source &signals, const test_plan &plan, bool is_client)
    : local_{local}, peer_{peer}, signals_{signals}, plan_{plan}, is_client_{is_client},
      send_marks_{last_bytes(plan.size, local.identity().payload_bytes)},
      receive_marks_{last_bytes(plan.size, local.peer().payload_bytes)}, started_{run_clock::now()}, ended_{started_}
{
    if (plan.seconds != 0)
        deadline_ = started_ + std::chrono::seconds{plan.seconds};
    samples_ns_.reserve(std::min<std::uint64_t>(plan.messages, 1 << 24));
}

void ping_pong::execute()
{
    if (is_client_)
        ping();
    else
        pong();
}

void ping_pong::ping()
{
    while (!over_ && (plan_.messages == 0 || written_ < plan_.messages)) {
        const auto before = run_clock::now();
        if (deadline_ && before >= *deadline_)
            break;
        write(written_);
        while (!over_ && !has_arrived(written_ - 1))
            ;
        if (over_)
            break;
        ended_ = run_clock::now();
        const auto round_trip = std::chrono::nanoseconds{ended_ - before}.count();
        samples_ns_.push_back(static_cast<std::uint32_t>(std::min<std::int64_t>(round_trip / 2, UINT32_MAX)));
    }
    while (local_.all_completed() < written_ && !over_)
        look_around();
    peer_.send(message_kind::done, own_summary());
    parts_.sent_result = peer_.expect(message_kind::result).body;
}

void ping_pong::pong()
{
    while (!over_) {
        while (!over_ && !has_arrived(written_))
            ;
        if (!over_)
            write(written_);
    }
    if (parts_.received_from.empty())
        return;
    peer_.send(message_kind::result, {{"traffic", to_json(local_.query())}});
    (void)peer_.expect(message_kind::bye);
}

void ping_pong::write(std::uint64_t number)
{
    // A packet that is sent again takes its bytes from this slot: it must not be filled anew before it has completed.
    while (written_ - local_.all_completed() >= plan_.window && look_around())
        ;
    const std::uint64_t slot = number % plan_.window;
    const auto memory = local_.send_slot(0, slot);
    for (const std::uint64_t at : send_marks_)
        memory[at] = mark_of(number);
    local_.write(0, slot, 0, plan_.size);
    ++written_;
}

bool ping_pong::has_arrived(std::uint64_t number)
{
    return plan_.events ? is_completed(number) : is_in_memory(number);
}

bool ping_pong::is_completed(std::uint64_t number)
{
    (void)local_.take_completions();
    if (local_.received() > number)
        return true;
    if (local_.wait(std::array{peer_.fd(), signals_.fd()}, longest_sleep))
        look_around();
    return false;
}

bool ping_pong::is_in_memory(std::uint64_t number)
{
    const auto memory = local_.receive_slot(0, 0);
    const std::byte mark = mark_of(number);
    for (unsigned poll = 0; poll < polls_per_look; ++poll) {
        if (std::ranges::all_of(receive_marks_, [&](std::uint64_t at) {
                return std::atomic_ref{memory[at]}.load(std::memory_order_acquire) == mark;
            }))
            return true;
        (void)local_.take_completions(); // as programs do that spin; a daemon inside this one works meanwhile
    }
    look_around();
    return false;
}

bool ping_pong::look_around()
{
    (void)local_.take_completions();
    while (const auto next = peer_.receive()) {
        if (next->kind == message_kind::done)
            parts_.received_from = next->body;
        over_ = over_ || next->kind == (is_client_ ? message_kind::stop : message_kind::done);
    }
    while (const auto number = signals_.take()) {
        if (*number == SIGUSR1)
            continue;
        parts_.interrupted = true;
        if (is_client_)
            over_ = true;
        else // answers until the client says `done`
            peer_.send(message_kind::stop);
    }
    local_.check_daemon();
    return !over_;
}

std::vector<std::uint32_t> ping_pong::sorted_ns() const
{
    std::vector<std::uint32_t> sorted = samples_ns_;
    std::ranges::sort(sorted);
    return sorted;
}

boost::json::object ping_pong::own_summary()
{
    const std::vector<std::uint32_t> sorted = sorted_ns();
    boost::json::object latency{{"min", percentile_us(sorted, 0)},    {"p50", percentile_us(sorted, 0.5)},
                                {"p99", percentile_us(sorted, 0.99)}, {"p999", percentile_us(sorted, 0.999)},
                                {"max", percentile_us(sorted, 1)},    {"samples", sorted.size()}};
    return {{"messages", written_},
            {"bytes", written_ * plan_.size},
            {"seconds", std::chrono::duration<double>(ended_ - started_).count()},
            {"interrupted", parts_.interrupted},
            {"sha256", ""},
            {"lat_us", std::move(latency)},
            {"traffic", to_json(local_.query())}};
}

run_parts ping_pong::parts()
{
    try {
        (is_client_ ? parts_.sent : parts_.received) = own_summary();
    } catch (const perf_error &error) { // mrcd is gone, and its counters with it
        parts_.missing = error.what();
    }
    return parts_;
}

} // namespace mrc::perf
