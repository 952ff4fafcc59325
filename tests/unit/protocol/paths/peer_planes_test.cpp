// SPDX-License-Identifier: Apache-2.0
// Two hosts behind one T0 share its paths, not their fate.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/queue_pair.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

path_group_config two_planes()
{
    path_group_config config;
    config.planes = 2;
    config.uplinks = 4;
    config.base = path_index{1};
    return config;
}

class null_memory final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t, std::uint64_t, std::span<const std::byte>) override
    {
        return {};
    }
};

// A remote host with one QP, and what this side holds for it.
struct remote {
    remote(path_group &shared, std::uint32_t local, std::uint32_t peer)
        : planes{probe_config{}, shared}, near{towards(local, peer), {shared, memory, near_window, nullptr, &planes}},
          far_paths{two_planes(), far_ports}, far{towards(peer, local), {far_paths, memory, far_window}}
    {
    }
    static qp_config towards(std::uint32_t local, std::uint32_t peer)
    {
        qp_config config;
        config.local = qpn{local};
        config.peer = qpn{peer};
        return config;
    }

    null_memory memory;
    fixed_window near_window{64 << 10};
    fixed_window far_window{64 << 10};
    local_ports far_ports{plane_mask{0b11}};
    peer_planes planes;
    queue_pair near;
    path_group far_paths;
    queue_pair far;
    bool dead = false;
    bool idle = false;        // nothing is sent to it
    plane_mask reached{0b11}; // its downlinks that work
};

class peer_planes_test : public testing::Test
{
protected:
    // Simulated time in steps of 10 us: everything takes one step, and both hosts always have something to receive.
    void run(duration time)
    {
        for (const instant until = now_ + time; now_ < until; now_ += 10us) {
            for (remote *host : {&a_, &b_}) {
                while (!host->idle && host->near.post_write({.id = 1, .source = {1, 0, 8192}}, now_))
                    ;
                while (host->near.next_completion())
                    ;
                probe(*host);
                carry(host->near, host->far, [&](const outgoing &packet) { return arrives(*host, packet); });
                carry(host->far, host->near, [&](const outgoing &) { return !host->dead; });
                if (host->near.next_deadline() <= now_)
                    host->near.on_timer(now_);
            }
        }
    }
    [[nodiscard]] bool arrives(const remote &host, const outgoing &packet) const
    {
        return !host.dead &&
               host.reached.has(plane_index{static_cast<std::uint8_t>(mrc_ev_plane(packet.entropy.value))});
    }
    void carry(queue_pair &from, queue_pair &to, const std::function<bool(const outgoing &)> &arrives)
    {
        std::vector<outgoing> flying;
        while (const auto packet = from.next_packet(now_))
            flying.push_back(*packet);
        for (const outgoing &packet : flying) {
            if (!arrives(packet))
                continue;
            const arrival how{.entropy = packet.entropy, .path = packet.path, .at = now_ + 10us};
            to.on_packet(packet.content, std::span{payload_}.first(packet.payload.bytes), how, now_ + 10us);
        }
    }
    // Whom the group asks: a host in use, rather one toward which no plane is suspected (datapath/probe_targets.h).
    [[nodiscard]] const remote &asked() const { return a_.idle && b_.planes.suspected().empty() ? b_ : a_; }
    // Of both kinds: of the group's bad paths, and of planes toward this host.
    void probe(remote &host)
    {
        const auto answer = [&](const outgoing &packet) {
            endpoint_response_packet response;
            response.request_id = std::get<endpoint_request_packet>(packet.content).request_id;
            return response;
        };
        while (const auto packet = host.planes.next_packet(now_)) {
            ++probes_;
            if (arrives(host, *packet))
                host.planes.on_packet(answer(*packet), {.entropy = packet->entropy, .path = packet->path, .at = now_});
        }
        while (const auto packet = paths_.next_packet(now_))
            if (arrives(asked(), *packet))
                paths_.on_packet(answer(*packet), {.entropy = packet->entropy, .path = packet->path, .at = now_});
    }
    void expect_all_paths_good() const
    {
        for (unsigned slot = 0; slot < paths_.size(); ++slot)
            EXPECT_EQ(paths_.state(slot), path_state::good) << slot;
    }

    std::vector<std::byte> payload_{4096};
    instant now_{1s};
    local_ports local_{plane_mask{0b11}};
    path_group paths_{two_planes(), local_};
    remote a_{paths_, 0x100, 0x200};
    remote b_{paths_, 0x101, 0x201};
    unsigned probes_ = 0;
};

TEST_F(peer_planes_test, dead_host_costs_its_neighbours_no_path)
{
    run(5ms);
    b_.dead = true;
    const std::uint64_t sent = b_.near.counters().tx_packets;
    run(20ms);
    EXPECT_EQ(b_.near.counters().silences, 1u);
    EXPECT_LT(b_.near.counters().tx_packets - sent, 200u) << "a silent host is not flooded";
    EXPECT_EQ(paths_.next_transition(), std::nullopt) << "no path is to blame";
    EXPECT_TRUE(b_.planes.suspected().empty());
    expect_all_paths_good();
    EXPECT_EQ(a_.near.counters().retransmits, 0u);
}

TEST_F(peer_planes_test, dead_link_to_one_host_is_left_by_its_qps_alone)
{
    run(5ms);
    b_.reached.set(plane_index{1}, false);
    run(1ms);
    EXPECT_EQ(b_.planes.suspected().bits(), 0b10u);
    EXPECT_TRUE(a_.planes.suspected().empty());
    expect_all_paths_good();
    const std::uint64_t again = b_.near.counters().retransmits;
    const std::uint64_t rounds = b_.near.counters().tx_packets;
    run(50ms);
    EXPECT_LE(b_.near.counters().retransmits - again, 2u) << "nothing goes there";
    EXPECT_GT(b_.near.counters().tx_packets - rounds, 1000u);
    EXPECT_EQ(a_.near.counters().retransmits, 0u);
    EXPECT_GT(probes_, 5u);
    EXPECT_LT(probes_, 15u) << "every 5 ms";

    b_.reached.set(plane_index{1}, true);
    run(20ms);
    EXPECT_TRUE(b_.planes.suspected().empty()) << "three answers, and it is used again";
}

TEST_F(peer_planes_test, link_of_the_only_busy_host_is_told_from_its_plane_by_another_one)
{
    a_.idle = true;
    run(5ms);
    b_.reached.set(plane_index{1}, false);
    run(1ms);
    EXPECT_EQ(b_.planes.suspected().bits(), 0b10u);
    run(20ms); // the paths' probes go to the other host
    EXPECT_EQ(paths_.good_planes().bits(), 0b11u);
    EXPECT_EQ(b_.planes.suspected().bits(), 0b10u) << "its own are not answered";
    while (paths_.next_transition())
        ;
    const std::uint64_t again = b_.near.counters().retransmits;
    run(200ms);
    EXPECT_FALSE(paths_.next_transition()) << "the plane flaps";
    EXPECT_EQ(b_.near.counters().retransmits, again);
    a_.idle = false;
    run(5ms);
    EXPECT_EQ(a_.near.counters().retransmits, 0u) << "it uses the plane";
    b_.reached.set(plane_index{1}, true);
    run(20ms);
    EXPECT_TRUE(b_.planes.suspected().empty());
}

TEST_F(peer_planes_test, dead_host_is_reported_silent_once_and_heard_once)
{
    run(5ms);
    b_.dead = true;
    run(900ms);
    EXPECT_FALSE(b_.planes.follow(now_)) << "a host may be off its CPU for a moment";
    run(200ms);
    EXPECT_TRUE(b_.planes.follow(now_));
    EXPECT_TRUE(b_.planes.silent());
    EXPECT_FALSE(b_.planes.follow(now_)) << "as before";
    EXPECT_FALSE(a_.planes.follow(now_)) << "its neighbour lives";
    b_.dead = false;
    run(200ms);
    EXPECT_TRUE(b_.planes.follow(now_));
    EXPECT_FALSE(b_.planes.silent());
}

TEST_F(peer_planes_test, plane_that_lags_is_not_suspected)
{
    peer_planes planes{probe_config{}, paths_};
    const duration tolerance = 100us;
    for (int n = 0; n < 5; ++n)
        planes.on_sent(plane_index{1});
    planes.on_delivered(plane_index{0}, now_ + 99us);
    for (int n = 0; n < 3; ++n)
        EXPECT_FALSE(planes.on_missing(plane_index{1}, now_ + n * 1us, tolerance));
    planes.on_delivered(plane_index{0}, now_ + 100us);
    EXPECT_TRUE(planes.on_missing(plane_index{1}, now_ + 5us, tolerance)) << "from the first that is missing on";
    EXPECT_FALSE(planes.on_missing(plane_index{1}, now_ + 101us, tolerance))
        << "nothing sent so late has been heard of";
}

TEST_F(peer_planes_test, dead_plane_of_the_whole_leaf_is_left_to_the_path_group)
{
    run(5ms);
    a_.reached.set(plane_index{0}, false);
    b_.reached.set(plane_index{0}, false);
    run(2ms);
    EXPECT_EQ(paths_.good_planes().bits(), 0b10u);
    a_.reached.set(plane_index{0}, true);
    b_.reached.set(plane_index{0}, true);
    run(100ms);
    EXPECT_EQ(paths_.good_planes().bits(), 0b11u);
    EXPECT_TRUE(a_.planes.suspected().empty());
    EXPECT_TRUE(b_.planes.suspected().empty());
}

TEST_F(peer_planes_test, last_plane_is_never_suspected)
{
    peer_planes planes{probe_config{}, paths_};
    EXPECT_TRUE(planes.suspect(plane_index{0}, plane_mask{0b11}, now_));
    EXPECT_FALSE(planes.suspect(plane_index{1}, plane_mask{0b11}, now_));
    EXPECT_FALSE(planes.suspect(plane_index{1}, plane_mask{0b10}, now_)) << "the other one's port is down";
    EXPECT_EQ(planes.suspected().bits(), 0b01u);
}

TEST_F(peer_planes_test, what_was_sent_before_a_suspicion_does_not_end_it)
{
    peer_planes planes{probe_config{}, paths_};
    const plane_index plane{0};
    ASSERT_TRUE(planes.suspect(plane, plane_mask{0b11}, now_));
    for (int packet = 10; packet > 0; --packet)
        planes.on_delivered(plane, now_ - packet * 1us);
    EXPECT_TRUE(planes.suspected().has(plane));
    for (int packet = 1; packet <= 3; ++packet)
        planes.on_delivered(plane, now_ + packet * 1us);
    EXPECT_FALSE(planes.suspected().has(plane));
}

TEST_F(peer_planes_test, no_probes_once_nobody_watches)
{
    peer_planes planes{probe_config{}, paths_};
    planes.watch(now_ + 20ms);
    ASSERT_TRUE(planes.suspect(plane_index{0}, plane_mask{0b11}, now_));
    unsigned sent = 0;
    const auto ask_for = [&](duration time) {
        for (const instant until = now_ + time; now_ < until; now_ += 1ms)
            while (planes.next_packet(now_))
                ++sent;
    };
    ask_for(20ms);
    EXPECT_GT(sent, 0u);
    now_ += 1ms;
    const unsigned before = sent;
    ask_for(50ms);
    EXPECT_EQ(sent, before);
    EXPECT_EQ(planes.next_deadline(), never);
    EXPECT_EQ(planes.suspected().bits(), 0b01u) << "and nobody has proved otherwise";
    planes.watch(now_ + 20ms);
    ask_for(20ms);
    EXPECT_GT(sent, before);
}

} // namespace
} // namespace mrc::protocol
