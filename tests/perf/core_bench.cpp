// SPDX-License-Identifier: Apache-2.0
// Throughput of the protocol core alone: queue pairs of two hosts exchange packets in memory, no frame is built and no
// payload copied. Queue pairs are visited as the worker does it, in turn and for a burst of up to 64 packets.
//
// Benchmarks: PHASE/CONTROL/QPS/BUSY, items are data packets. BUSY of the QPS queue pairs have something to send.
//   send     next_packet() of the sending end
//   receive  on_packet() of the receiving end
//   answer   next_packet() of the receiving end: SACKs and Transport ACKs
//   sack     on_packet() of the sending end, with completions and new work requests
//   both     all of it: what one core does that plays both ends
//   idle     all QPS have two packets each under way, the answers arrive, and all come to rest; items are queue pairs
// With --round-trips=N each but `idle` does just so many, whatever they take: for counting instructions (costs.py).
// Counters: packets, data packets; qp_bytes, heap of one end's queue pair at rest, with its controller and what it
// knows of its peer, which mrcd's share; pool_bytes, what all of one end have borrowed, per busy one; answers, per data
// packet; ns, per item.
// Times are the thread's CPU time: other processes on the machine slow it down a little, but do not count.
//
// A round trip is 64 visits long, so that up to 4096 packets are under way, whatever the number of QPs: SACKs meet
// their sender's state as warm as at 5 Mpps and 800 us, and the next burst finds it as cold as the other QPs leave it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "protocol/congestion/fixed_window.h"
#include "protocol/congestion/nscc.h"
#include "protocol/queue_pair.h"
#include "run_benchmarks.h"

namespace
{

std::size_t allocated_bytes = 0;

} // namespace

// Not inlined: the compiler would see malloc beside delete, and free beside new.
[[gnu::noinline]] void *operator new(std::size_t bytes)
{
    allocated_bytes += bytes;
    if (void *memory = std::malloc(bytes))
        return memory;
    throw std::bad_alloc{};
}

[[gnu::noinline]] void operator delete(void *memory) noexcept
{
    std::free(memory);
}

[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

namespace
{

using namespace std::chrono_literals;
using namespace mrc::protocol;

constexpr unsigned planes = 4;
constexpr unsigned uplinks = 32;
constexpr std::uint32_t payload_bytes = 3072;
constexpr std::uint32_t message_bytes = 1 << 20;
constexpr unsigned burst = 64;
constexpr unsigned visits_per_round_trip = 64;
constexpr std::uint64_t window_bytes = 256 << 10;
constexpr duration one_way = 10us;
constexpr duration visit = 100ns; // of simulated time: a round trip of all visits stays below the least time-out

enum class control_kind : std::int64_t { fixed, nscc };
enum class phase : std::uint8_t { send, receive, answer, sack };
constexpr std::size_t phases = 4;

class null_memory final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t, std::uint64_t, std::span<const std::byte>) override
    {
        return {};
    }
};

path_group_config group_config()
{
    path_group_config config;
    config.planes = planes;
    config.uplinks = uplinks;
    config.base = path_index{1};
    return config;
}

std::unique_ptr<congestion_control> make_control(control_kind kind)
{
    if (kind == control_kind::fixed)
        return std::make_unique<fixed_window>(window_bytes);
    return std::make_unique<nscc>(derive_nscc({.base_rtt = 2 * one_way, .mtu = nominal_bytes(payload_bytes)}));
}

struct endpoint {
    endpoint(const qp_config &config, path_group &paths, sack_proofs &proofs, memory_sink &memory, slab_pool &pool,
             control_kind kind)
        : control{make_control(kind)},
          qp{config, {.paths = paths, .memory = memory, .control = *control, .pool = &pool, .proofs = &proofs}}
    {
        qp.announce();
    }

    std::unique_ptr<congestion_control> control;
    queue_pair qp;
    std::uint64_t posted = 0;
};

duration cpu_time()
{
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return std::chrono::seconds{spent.tv_sec} + std::chrono::nanoseconds{spent.tv_nsec};
}

// What two readings in a row differ by: some hundred nanoseconds of a phase of a few thousand.
duration clock_cost()
{
    std::array<duration, 1001> differences{};
    for (duration &each : differences) {
        const duration from = cpu_time();
        each = cpu_time() - from;
    }
    std::ranges::nth_element(differences, differences.begin() + differences.size() / 2);
    return differences[differences.size() / 2];
}

// All queue pairs between two hosts.
class fleet
{
public:
    fleet(unsigned qps, unsigned busy, control_kind kind) : busy_{busy}
    {
        const std::size_t before = allocated_bytes;
        for (unsigned index = 0; index < qps; ++index) {
            qp_config left;
            left.local = qpn{0x100 + index};
            left.peer = qpn{0x100000 + index};
            left.payload_bytes = payload_bytes;
            left.seed = index + 1;
            qp_config right = left;
            std::swap(right.local, right.peer);
            left_.push_back(std::make_unique<endpoint>(left, left_paths_, left_proofs_, memory_, left_pool_, kind));
            right_.push_back(
                std::make_unique<endpoint>(right, right_paths_, right_proofs_, memory_, right_pool_, kind));
        }
        qp_bytes_ = (allocated_bytes - before) / (std::size_t{2} * qps);
        wire_.reserve(std::size_t{visits_per_round_trip} * burst);
        ends_.reserve(visits_per_round_trip);
    }

    // One burst of up to 64 QPs, there and back. Returns the data packets that arrived.
    std::size_t round_trip(std::array<duration, phases> &spent)
    {
        const std::size_t first = next_;
        const std::size_t visits = std::min<std::size_t>(visits_per_round_trip, busy_);
        next_ = (next_ + visits) % busy_;
        timed(spent, phase::send, [&] { send(left_, first, visits); });
        const std::size_t packets = wire_.size();
        now_ += one_way;
        timed(spent, phase::receive, [&] { deliver(right_, first); });
        timed(spent, phase::answer, [&] { send(right_, first, visits); });
        answers_ += wire_.size();
        now_ += one_way;
        timed(spent, phase::sack, [&] {
            deliver(left_, first);
            refill(first, visits);
        });
        return packets;
    }

    // All queue pairs have two packets under way; what it takes when their answers arrive, and all come to rest.
    duration go_idle()
    {
        const std::size_t visits = left_.size();
        refill(0, visits, 1, 2 * payload_bytes);
        while (send(left_, 0, visits), !wire_.empty()) {
            deliver(right_, 0);
            send(right_, 0, visits);
            now_ += one_way;
            const duration from = cpu_time();
            deliver(left_, 0);
            for (const auto &each : left_) {
                while (each->qp.next_completion()) {
                }
                each->qp.rest();
            }
            idling_ += cpu_time() - from;
        }
        for (const auto &each : right_)
            each->qp.rest();
        return std::exchange(idling_, duration{0});
    }

    [[nodiscard]] std::size_t qp_bytes() const { return qp_bytes_; }
    [[nodiscard]] std::size_t pool_bytes() const
    {
        return (left_pool_.lent_bytes() + right_pool_.lent_bytes()) / 2 / busy_;
    }
    [[nodiscard]] std::uint64_t answers() const { return answers_; }
    [[nodiscard]] bool clean() const
    {
        std::uint64_t lost = 0;
        for (const auto &each : left_)
            lost += each->qp.counters().retransmits + each->qp.counters().timeouts;
        return lost == 0;
    }
    void fill() { refill(0, busy_); }

private:
    using side = std::vector<std::unique_ptr<endpoint>>;

    template <typename work>
    static void timed(std::array<duration, phases> &spent, phase in, const work &what)
    {
        static const duration own_cost = clock_cost();
        const duration from = cpu_time();
        what();
        spent[static_cast<std::size_t>(in)] += std::max(duration{0}, cpu_time() - from - own_cost);
    }

    [[nodiscard]] endpoint &at(const side &of, std::size_t first, std::size_t visit_number) const
    {
        return *of[visit_number < busy_ ? (first + visit_number) % busy_ : visit_number];
    }

    void send(const side &from, std::size_t first, std::size_t visits)
    {
        wire_.clear();
        ends_.clear();
        left_pool_.replenish();
        right_pool_.replenish();
        for (std::size_t number = 0; number < visits; ++number) {
            queue_pair &qp = at(from, first, number).qp;
            now_ += visit;
            if (qp.next_deadline() <= now_)
                qp.on_timer(now_);
            for (unsigned n = 0; n < burst; ++n) {
                const auto packet = qp.next_packet(now_);
                if (!packet)
                    break;
                wire_.push_back(*packet);
            }
            ends_.push_back(wire_.size());
        }
    }

    void deliver(const side &to, std::size_t first)
    {
        std::size_t index = 0;
        for (std::size_t number = 0; number < ends_.size(); ++number) {
            queue_pair &qp = at(to, first, number).qp;
            now_ += visit;
            for (; index < ends_[number]; ++index) {
                const outgoing &packet = wire_[index];
                arrival how;
                how.entropy = packet.entropy;
                how.path = packet.path;
                how.at = now_;
                how.wire_bytes = nominal_bytes(packet.payload.bytes);
                qp.on_packet(packet.content, std::span{payload_}.first(packet.payload.bytes), how, now_);
            }
        }
    }

    void refill(std::size_t first, std::size_t visits, std::size_t most = 4, std::uint32_t bytes = message_bytes)
    {
        for (std::size_t number = 0; number < visits; ++number) {
            endpoint &each = at(left_, first, number);
            while (each.qp.next_completion()) {
            }
            while (each.qp.outstanding() < most) {
                const write_request request{.id = each.posted++, .source = {1, 0, bytes}, .rkey = 1};
                if (!each.qp.post_write(request, now_))
                    break;
            }
        }
    }

    local_ports ports_{plane_mask{(1u << planes) - 1}};
    path_group left_paths_{group_config(), ports_};
    path_group right_paths_{group_config(), ports_};
    sack_proofs left_proofs_{left_paths_.size()};
    sack_proofs right_proofs_{right_paths_.size()};
    null_memory memory_;
    std::vector<std::byte> payload_ = std::vector<std::byte>(payload_bytes);
    slab_pool left_pool_{slab_limits{.most_bytes = std::size_t{1} << 30}};
    slab_pool right_pool_{slab_limits{.most_bytes = std::size_t{1} << 30}};
    side left_;
    side right_;
    std::size_t busy_;
    duration idling_{0};
    std::vector<outgoing> wire_;
    std::vector<std::size_t> ends_; // of each visit's packets in wire_
    std::size_t next_ = 0;
    std::size_t qp_bytes_ = 0;
    std::uint64_t answers_ = 0;
    instant now_{1s};
};

// Benchmarks run several times with growing counts; thousands of QPs are made once.
fleet &fleet_of(unsigned qps, unsigned busy, control_kind kind)
{
    static std::tuple<unsigned, unsigned, control_kind> held;
    static std::unique_ptr<fleet> current;
    if (!current || held != std::tuple{qps, busy, kind}) {
        current.reset();
        current = std::make_unique<fleet>(qps, busy, kind);
        held = {qps, busy, kind};
        (void)current->go_idle(); // all have been in use
        current->fill();
        std::array<duration, phases> ignored{};
        for (std::size_t packets = 0; packets < std::size_t{busy} * 1024;) // every ring has been once around
            packets += current->round_trip(ignored);
    }
    return *current;
}

void run_idle(benchmark::State &state)
{
    const auto qps = static_cast<unsigned>(state.range(1));
    fleet all{qps, qps, static_cast<control_kind>(state.range(0))};
    (void)all.go_idle();
    double seconds = 0;
    std::int64_t items = 0;
    while (state.KeepRunning()) {
        const double spent = std::chrono::duration<double>(all.go_idle()).count();
        seconds += spent;
        items += qps;
        state.SetIterationTime(spent);
    }
    state.SetItemsProcessed(items);
    state.counters["ns"] = seconds * 1e9 / static_cast<double>(items);
}

void run(benchmark::State &state, const std::vector<phase> &counted)
{
    fleet &all = fleet_of(static_cast<unsigned>(state.range(1)), static_cast<unsigned>(state.range(2)),
                          static_cast<control_kind>(state.range(0)));
    const std::uint64_t answers_before = all.answers();
    std::size_t packets = 0;
    double seconds = 0;
    while (state.KeepRunning()) {
        std::array<duration, phases> spent{};
        packets += all.round_trip(spent);
        duration total{0};
        for (const phase each : counted)
            total += spent[static_cast<std::size_t>(each)];
        seconds += std::chrono::duration<double>(total).count();
        state.SetIterationTime(std::chrono::duration<double>(total).count());
    }
    if (!all.clean())
        state.SkipWithError("packets were sent twice on paths that lose nothing");
    const auto count = static_cast<double>(packets);
    state.SetItemsProcessed(static_cast<std::int64_t>(packets));
    state.counters["ns"] = seconds * 1e9 / count;
    state.counters["packets"] = count;
    state.counters["answers"] = static_cast<double>(all.answers() - answers_before) / count;
    state.counters["qp_bytes"] = static_cast<double>(all.qp_bytes());
    state.counters["pool_bytes"] = static_cast<double>(all.pool_bytes());
}

// Takes --round-trips=N from the arguments; 0: as many as it takes to measure.
std::int64_t take_round_trips(int &argc, char **argv)
{
    constexpr std::string_view option = "--round-trips=";
    for (int i = 1; i < argc; ++i)
        if (std::string_view{argv[i]}.starts_with(option)) {
            const std::int64_t count = std::atoll(argv[i] + option.size());
            std::copy(argv + i + 1, argv + argc, argv + i);
            --argc;
            return count;
        }
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    const std::int64_t round_trips = take_round_trips(argc, argv);
    const std::vector<std::pair<const char *, std::vector<phase>>> benchmarks{
        {"both", {phase::send, phase::receive, phase::answer, phase::sack}},
        {"send", {phase::send}},
        {"receive", {phase::receive}},
        {"answer", {phase::answer}},
        {"sack", {phase::sack}},
    };
    using numbers = std::pair<std::int64_t, std::int64_t>; // of queue pairs, and of busy ones
    for (const control_kind kind : {control_kind::fixed, control_kind::nscc})
        for (const auto &[qps, busy] : {numbers{1, 1}, {10, 10}, {100, 100}, {10'000, 10}, {10'000, 10'000}})
            for (const auto &[name, counted] : benchmarks) {
                auto *each = benchmark::RegisterBenchmark(name, run, counted);
                each->ArgNames({"nscc", "qps", "busy"})->UseManualTime();
                each->Args({static_cast<std::int64_t>(kind), qps, busy});
                if (round_trips > 0)
                    each->Iterations(round_trips);
            }
    for (const std::int64_t qps : {100, 1000, 10'000})
        benchmark::RegisterBenchmark("idle", run_idle)->ArgNames({"nscc", "qps"})->Args({1, qps})->UseManualTime();
    return run_benchmarks(argc, argv);
}
