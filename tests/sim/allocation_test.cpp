// SPDX-License-Identifier: Apache-2.0
// The core allocates nothing per packet: operator new is counted over a million packets with losses in between. With a
// pool, as in mrcd, queue pairs borrow and give back all the time, and the pool is replenished between rounds.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/congestion/nscc.h"
#include "protocol/queue_pair.h"

namespace
{

std::uint64_t allocations = 0;

} // namespace

// Not inlined: the compiler would see malloc beside delete, and free beside new.
[[gnu::noinline]] void *operator new(std::size_t bytes)
{
    ++allocations;
    if (void *memory = std::malloc(bytes))
        return memory;
    throw std::bad_alloc{};
}

[[gnu::noinline]] void operator delete(void *memory) noexcept
{
    std::free(memory); // NOLINT(clang-analyzer-cplusplus.NewDelete): what the operator above gave
}

[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory); // NOLINT(clang-analyzer-cplusplus.NewDelete): what the operator above gave
}

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

class null_memory final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t, std::uint64_t, std::span<const std::byte>) override
    {
        return {};
    }
};

using control_maker = std::unique_ptr<congestion_control> (*)();

enum class memory_of { queue_pair, pool };

struct endpoint {
    endpoint(const path_group_config &group, const qp_config &config, control_maker make, memory_of whose)
        : paths{group, ports}, control{make()}, qp{config,
                                                   {.paths = paths,
                                                    .memory = memory,
                                                    .control = *control,
                                                    .pool = whose == memory_of::pool ? &pool : nullptr}}
    {
        inbox.reserve(4096);
        qp.announce();
    }
    slab_pool pool;
    local_ports ports{plane_mask{0xF}};
    path_group paths;
    null_memory memory;
    std::unique_ptr<congestion_control> control;
    queue_pair qp;
    std::vector<outgoing> inbox;
};

qp_config sender_config()
{
    qp_config config;
    config.local = qpn{0x100};
    config.peer = qpn{0x200};
    config.payload_bytes = 3072;
    config.receive_queue_depth = 256;
    return config;
}

// Writes of 1 MB and 3 KB in turn, each second one with an immediate, over paths that lose, trim and mark.
class traffic
{
public:
    traffic(control_maker make, memory_of whose)
    {
        path_group_config group;
        group.planes = 4;
        group.uplinks = 8;
        group.base = path_index{1};
        const qp_config left = sender_config();
        qp_config right = left;
        std::swap(right.local, right.peer);
        from_ = std::make_unique<endpoint>(group, left, make, whose);
        to_ = std::make_unique<endpoint>(group, right, make, whose);
    }

    void run(std::uint64_t packets)
    {
        while (from_->qp.counters().tx_packets < packets) {
            while (to_->qp.post_receive(receives_posted_))
                ++receives_posted_;
            post();
            carry(*from_, *to_);
            carry(*to_, *from_);
            while (from_->qp.next_completion())
                ++completions_;
            while (to_->qp.next_receive_completion())
                ++immediates_;
            for (endpoint *each : {from_.get(), to_.get()})
                (void)each->pool.replenish();
        }
    }
    [[nodiscard]] const qp_counters &counters() const { return from_->qp.counters(); }
    [[nodiscard]] std::uint64_t completions() const { return completions_; }
    [[nodiscard]] std::uint64_t immediates() const { return immediates_; }

private:
    void post()
    {
        for (;; ++id_) {
            write_request request{.id = id_, .source = {1, 0, id_ % 4 < 2 ? 1u << 20 : 3000u}, .rkey = 1};
            if (id_ % 2 == 0)
                request.immediate = static_cast<std::uint32_t>(id_);
            if (!from_->qp.post_write(request, now_))
                return;
        }
    }

    void carry(endpoint &source, endpoint &sink)
    {
        while (sink.inbox.size() < 4096) {
            const auto packet = source.qp.next_packet(now_);
            if (!packet)
                break;
            if (++frames_ % 1009 != 0) // now and then one is lost
                sink.inbox.push_back(*packet);
        }
        now_ += 10us;
        for (const outgoing &packet : sink.inbox) {
            arrival how;
            how.entropy = packet.entropy;
            how.path = packet.path;
            how.at = now_;
            how.trimmed = packet.dscp == MRC_DSCP_TRIMMABLE && ++frames_ % 2003 == 0;
            how.congestion_experienced = packet.ecn == MRC_ECN_ECT0 && frames_ % 503 == 0;
            const std::uint32_t bytes = how.trimmed ? 0 : packet.payload.bytes;
            sink.qp.on_packet(packet.content, std::span{payload_}.first(bytes), how, now_);
        }
        sink.inbox.clear();
        if (sink.qp.next_deadline() <= now_)
            sink.qp.on_timer(now_);
    }

    std::unique_ptr<endpoint> from_;
    std::unique_ptr<endpoint> to_;
    std::vector<std::byte> payload_ = std::vector<std::byte>(3072);
    instant now_{1s};
    std::uint64_t id_ = 0;
    std::uint64_t frames_ = 0;
    std::uint64_t receives_posted_ = 0;
    std::uint64_t completions_ = 0;
    std::uint64_t immediates_ = 0;
};

void expect_no_allocation(const char *name, control_maker make, memory_of whose = memory_of::queue_pair)
{
    constexpr std::uint64_t packets = 1'000'000;
    constexpr std::uint64_t until_all_sizes_were_wanted = 100'000;
    traffic both{make, whose};
    if (whose == memory_of::pool)
        both.run(until_all_sizes_were_wanted);
    const std::uint64_t before = allocations;
    const std::clock_t started = std::clock();
    both.run(both.counters().tx_packets + packets);
    const double cpu_seconds = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    EXPECT_EQ(allocations, before);
    EXPECT_GT(both.counters().retransmits, 500u);
    EXPECT_GT(both.counters().nacks, 100u);
    EXPECT_GT(both.completions(), 5000u);
    EXPECT_GT(both.immediates(), 2500u);
    std::printf("%s: %.0f ns of CPU per data packet, both ends, SACKs included\n", name, cpu_seconds * 1e3);
}

TEST(allocation, none_per_packet_with_a_fixed_window)
{
    expect_no_allocation("fixed window", []() -> std::unique_ptr<congestion_control> {
        return std::make_unique<fixed_window>(256 * 1024);
    });
}

TEST(allocation, none_per_packet_with_nscc)
{
    expect_no_allocation("NSCC", []() -> std::unique_ptr<congestion_control> {
        return std::make_unique<nscc>(derive_nscc({.base_rtt = 20us, .mtu = nominal_bytes(3072)}));
    });
}

TEST(allocation, none_per_packet_with_borrowed_memory)
{
    expect_no_allocation(
        "NSCC, borrowed memory",
        []() -> std::unique_ptr<congestion_control> {
            return std::make_unique<nscc>(derive_nscc({.base_rtt = 20us, .mtu = nominal_bytes(3072)}));
        },
        memory_of::pool);
}

} // namespace
} // namespace mrc::protocol
