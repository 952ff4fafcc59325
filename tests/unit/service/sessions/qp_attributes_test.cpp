// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/qp_attributes.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using protocol::qp_state;
using session::qp_attributes;

constexpr attribute_bounds unconnected{.window_psns = 1024, .connected = false};
constexpr attribute_bounds connected{.window_psns = 1024, .connected = true};

qp_attributes wanted_capabilities(std::uint32_t bits)
{
    qp_attributes wanted{};
    wanted.mask = session::qp_sets_capabilities;
    wanted.capabilities = bits;
    return wanted;
}

TEST(qp_attributes, capabilities_begin_as_the_configuration_has_peers)
{
    for (unsigned bits = 0; bits < 8; ++bits) {
        const peer_defaults peers{
            .trim_nack = (bits & 1) != 0, .service_time = (bits & 2) != 0, .dynamic_mpr = (bits & 4) != 0};
        const peer_defaults back = peer_of(initial_attributes(7, 1024, peers));
        EXPECT_EQ(back.trim_nack, peers.trim_nack);
        EXPECT_EQ(back.service_time, peers.service_time);
        EXPECT_EQ(back.dynamic_mpr, peers.dynamic_mpr);
    }
}

TEST(qp_attributes, each_capability_bit_acts_on_this_queue_pair)
{
    qp_attributes now = initial_attributes(7, 1024, {.trim_nack = true, .service_time = false, .dynamic_mpr = false});
    adopt(now, wanted_capabilities(session::qp_dynamic_mpr));
    EXPECT_TRUE(peer_of(now).dynamic_mpr);
    EXPECT_TRUE(peer_of(now).trim_nack);
    EXPECT_TRUE(peer_of(now).service_time); // the bit says what the peer lacks
    adopt(now, wanted_capabilities(session::qp_peer_lacks_trim_nack | session::qp_peer_lacks_service_time));
    EXPECT_FALSE(peer_of(now).dynamic_mpr);
    EXPECT_FALSE(peer_of(now).trim_nack);
    EXPECT_FALSE(peer_of(now).service_time);
}

TEST(qp_attributes, capabilities_are_settled_before_the_peer_is_connected)
{
    const qp_attributes now = initial_attributes(7, 1024, {});
    const qp_attributes other = wanted_capabilities(now.capabilities ^ session::qp_dynamic_mpr);
    EXPECT_EQ(why_refused(other, now, qp_state::init, unconnected), "");
    EXPECT_NE(why_refused(other, now, qp_state::ready_to_receive, connected), "");
    EXPECT_EQ(why_refused(wanted_capabilities(now.capabilities), now, qp_state::ready_to_receive, connected), "");
    EXPECT_NE(why_refused(wanted_capabilities(8), now, qp_state::init, unconnected), "");
}

TEST(qp_attributes, how_it_sends_is_settled_before_rts)
{
    const qp_attributes now = initial_attributes(7, 1024, {});
    qp_attributes wanted{};
    wanted.mask = session::qp_sets_timeout;
    wanted.timeout = 10;
    EXPECT_EQ(why_refused(wanted, now, qp_state::ready_to_receive, connected), "");
    EXPECT_NE(why_refused(wanted, now, qp_state::ready_to_send, connected), "");
    wanted.mask |= session::qp_sets_state;
    wanted.state = static_cast<std::uint8_t>(qp_state::reset);
    EXPECT_EQ(why_refused(wanted, now, qp_state::ready_to_send, connected), "") << "RESET begins anew";
    wanted.timeout = 25;
    EXPECT_NE(why_refused(wanted, now, qp_state::init, unconnected), "");
}

TEST(qp_attributes, attributes_outside_the_mask_stay)
{
    qp_attributes now = initial_attributes(7, 1024, {});
    const qp_attributes before = now;
    qp_attributes wanted{};
    wanted.mask = session::qp_sets_mpr;
    wanted.mpr = 3;
    wanted.mpr_dest = 2;
    adopt(now, wanted);
    EXPECT_EQ(now.mpr, 3);
    EXPECT_EQ(now.mpr_dest, before.mpr_dest);
    EXPECT_EQ(terms_of(now).window_psns, 3U * MRC_MPR_UNIT);
}

TEST(qp_attributes, a_hint_says_what_is_left_of_both_ends_links)
{
    struct row {
        std::uint16_t here, elsewhere, receivers;
        double shared, alone;
    };
    constexpr row rows[] = {
        {0, 0, 0, 1, 1},               // no hint
        {0, 7, 0, 1.0 / 8, 1.0 / 8},   // an incast of 8
        {4, 12, 1, 1.0 / 4, 1.0 / 16}, // four of ours in an incast of 16
        {1, 0, 8, 1.0 / 8, 1.0 / 8},   // one to each of eight
        {2, 2, 8, 1.0 / 8, 1.0 / 16},  // the sender's link is the narrower one
    };
    for (const row &each : rows) {
        qp_attributes now{};
        qp_attributes wanted{};
        wanted.mask = session::qp_sets_hint;
        wanted.senders_here = each.here;
        wanted.senders_elsewhere = each.elsewhere;
        wanted.receivers = each.receivers;
        adopt(now, wanted);
        EXPECT_DOUBLE_EQ(share_of(now, true), each.shared) << each.here << ' ' << each.elsewhere;
        EXPECT_DOUBLE_EQ(share_of(now, false), each.alone) << each.here << ' ' << each.elsewhere;
    }
}

} // namespace
} // namespace mrc::service
