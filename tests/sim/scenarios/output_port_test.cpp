// SPDX-License-Identifier: Apache-2.0
// Queues of a switch port: classes, thresholds of marking and trimming, limits.
#include <gtest/gtest.h>

#include <functional>

#include "sim/output_port.h"

namespace mrc::sim
{
namespace
{

constexpr std::uint32_t packet_bytes = 4262;

class port_queue : public testing::Test
{
protected:
    output_port port_with(const port_limits &limits) { return {100, 0, limits}; }

    frame_index make(bool control = false, std::uint8_t dscp = MRC_DSCP_TRIMMABLE)
    {
        const frame_index index = frames.take();
        frames[index] = frame{};
        frames[index].wire_bytes = control ? 178 : packet_bytes;
        frames[index].control = control;
        frames[index].dscp = dscp;
        frames[index].ect = !control;
        return index;
    }

    frame_pool frames;
    protocol::random_source random{1};
};

TEST_F(port_queue, control_goes_first_and_each_class_is_a_fifo)
{
    output_port port = port_with({});
    const frame_index data = make();
    const frame_index later = make();
    const frame_index control = make(true);
    for (const frame_index each : {data, later, control})
        ASSERT_EQ(port.admit(frames, each), admission::queued);
    EXPECT_EQ(port.take(frames, random), control);
    EXPECT_EQ(port.take(frames, random), data);
    EXPECT_EQ(port.take(frames, random), later);
    EXPECT_EQ(port.take(frames, random), no_frame);
    EXPECT_TRUE(port.idle());
}

TEST_F(port_queue, beyond_the_trim_limit_the_payload_is_cut)
{
    output_port port = port_with({.trim_limit = 2 * packet_bytes});
    const frame_index kept = make();
    const frame_index full = make();
    const frame_index cut = make();
    for (const frame_index each : {kept, full, cut})
        EXPECT_EQ(port.admit(frames, each), admission::queued);
    EXPECT_EQ(port.waiting_bytes(), 2 * packet_bytes);
    EXPECT_TRUE(frames[cut].trimmed);
    EXPECT_FALSE(frames[cut].trimmed_last_hop);
    EXPECT_EQ(frames[cut].dscp, MRC_DSCP_TRIMMED);
    EXPECT_EQ(frames[cut].wire_bytes, trimmed_wire_bytes);
    EXPECT_TRUE(frames[cut].ect) << "a trimmed packet keeps its ECN bits";
    EXPECT_EQ(port.take(frames, random), cut) << "what is left goes ahead of data";
    EXPECT_EQ(port.counters.trimmed, 1u);
}

TEST_F(port_queue, a_trim_at_the_last_hop_is_marked_as_such)
{
    output_port port = port_with({.trim_limit = 1, .last_hop = true});
    const frame_index cut = make();
    EXPECT_EQ(port.admit(frames, cut), admission::queued);
    EXPECT_TRUE(frames[cut].trimmed_last_hop);
    EXPECT_EQ(frames[cut].dscp, MRC_DSCP_TRIMMED_LASTHOP);
}

TEST_F(port_queue, only_trimmable_code_points_are_trimmed)
{
    output_port port = port_with({.drop_limit = packet_bytes, .trim_limit = 1});
    EXPECT_EQ(port.admit(frames, make(false, MRC_DSCP_NO_TRIM)), admission::queued);
    EXPECT_EQ(port.admit(frames, make(false, MRC_DSCP_NO_TRIM)), admission::dropped);
    const frame_index copy = make(false, MRC_DSCP_TRIMMABLE_RETX);
    EXPECT_EQ(port.admit(frames, copy), admission::queued);
    EXPECT_TRUE(frames[copy].trimmed);
    EXPECT_EQ(port.counters.dropped_full, 1u);
}

TEST_F(port_queue, control_has_its_own_limit)
{
    output_port port = port_with({.control_limit = 200});
    EXPECT_EQ(port.admit(frames, make(true)), admission::queued);
    EXPECT_EQ(port.admit(frames, make(true)), admission::dropped);
    EXPECT_EQ(port.admit(frames, make()), admission::queued);
}

// Marks of `count` packets that leave a queue held at `waiting` packets.
double marked_share(output_port port, frame_pool &frames, protocol::random_source &random,
                    const std::function<frame_index()> &fresh, unsigned waiting, unsigned count)
{
    unsigned marked = 0;
    while (port.waiting_bytes() < std::uint64_t{waiting} * packet_bytes)
        EXPECT_EQ(port.admit(frames, fresh()), admission::queued);
    for (unsigned i = 0; i < count; ++i) {
        const frame_index index = port.take(frames, random);
        marked += frames[index].congestion_experienced ? 1 : 0;
        frames.give_back(index);
        EXPECT_EQ(port.admit(frames, fresh()), admission::queued);
    }
    return marked / static_cast<double>(count);
}

TEST_F(port_queue, marks_between_its_thresholds)
{
    const port_limits limits{.drop_limit = 1 << 30, .ecn_min = 10 * packet_bytes, .ecn_max = 30 * packet_bytes};
    const auto fresh = [this] { return make(); };
    const auto share = [&](unsigned waiting) {
        return marked_share(port_with(limits), frames, random, fresh, waiting, 4000);
    };
    EXPECT_EQ(share(9), 0) << "below the lower threshold nothing is marked";
    EXPECT_NEAR(share(15), 0.25, 0.03);
    EXPECT_NEAR(share(20), 0.5, 0.03);
    EXPECT_NEAR(share(25), 0.75, 0.03);
    EXPECT_EQ(share(31), 1) << "above the upper everything is";
}

TEST_F(port_queue, packets_that_are_not_ect_are_never_marked)
{
    const auto plain = [this] {
        const frame_index index = make();
        frames[index].ect = false;
        return index;
    };
    EXPECT_EQ(
        marked_share(port_with({.drop_limit = 1 << 30, .ecn_min = 0, .ecn_max = 1}), frames, random, plain, 8, 100), 0);
}

} // namespace
} // namespace mrc::sim
