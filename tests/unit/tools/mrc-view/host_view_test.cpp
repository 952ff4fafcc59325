// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/host_view.h"

#include <boost/json/array.hpp>
#include <gtest/gtest.h>

#include "tools/mrc-view/link_use.h"
#include "tools/mrc-view/plane_figures.h"
#include "unit/tools/mrc-view/rows.h"

namespace mrc::view
{
namespace
{

using namespace testing;
namespace json = boost::json;

struct sending_host {
    host_rows before = rows_at(1'000'000'000);
    host_rows now = rows_at(3'000'000'000);

    sending_host()
    {
        send(now, 0, 0, 300);
        send(now, 1, 1, 100, 10);
        now.counters.qps.at(qpn).tx_bytes = 1'000'000;
    }
    [[nodiscard]] host_look look() const
    {
        return {.place = place_of("h0", now), .long_ago = &before, .before = &before, .now = &now};
    }
};

TEST(mrc_view_planes, share_the_goodput_of_queue_pairs_by_the_bytes_they_carried)
{
    const sending_host host;
    const plane_table planes_now = plane_figures_of(host.before, host.now);
    EXPECT_DOUBLE_EQ(planes_now[0].tx_goodput_bits_per_s, 3e6);
    EXPECT_DOUBLE_EQ(planes_now[1].tx_goodput_bits_per_s, 1e6);
    EXPECT_DOUBLE_EQ(planes_now[1].rx_goodput_bits_per_s, 0);
    EXPECT_DOUBLE_EQ(planes_now[1].retransmits_per_s, 5);
    EXPECT_DOUBLE_EQ(planes_now[0].rtt_ns, 100'000);
    EXPECT_EQ(planes_now[2].paths, 0U);
}

TEST(mrc_view_planes, have_no_rates_before_there_are_two_looks)
{
    const host_rows only = rows_at(5);
    EXPECT_DOUBLE_EQ(plane_figures_of(only, only)[0].tx_goodput_bits_per_s, 0);
    EXPECT_EQ(plane_figures_of(only, only)[0].good, spines);
}

TEST(mrc_view_host, has_planes_uplinks_peers_and_queue_pairs)
{
    const sending_host host;
    const json::object view = host_view(host.look(), "x-h0", names);
    EXPECT_EQ(view.at("name"), "h0");
    EXPECT_EQ(view.at("instance"), "x-h0");
    EXPECT_EQ(view.at("leaf"), 0);
    const json::array &plane_views = view.at("planes").as_array();
    ASSERT_EQ(plane_views.size(), std::size_t{planes});
    EXPECT_EQ(plane_views[1].at("device"), "p1");
    EXPECT_DOUBLE_EQ(plane_views[0].at("tx_bits_per_s").as_double(), 1.2e6);
    const json::array &uplinks = view.at("uplinks").as_array();
    ASSERT_EQ(uplinks.size(), std::size_t{planes * spines});
    EXPECT_EQ(uplinks[3].at("plane"), 1);
    EXPECT_EQ(uplinks[3].at("uplink"), 1);
    EXPECT_DOUBLE_EQ(uplinks[3].at("loss").as_double(), 0.1);
    EXPECT_EQ(uplinks[3].at("state"), "lossy");
    EXPECT_EQ(uplinks[3].at("states").at("good"), 1);
    const json::object &peer = view.at("peers").as_array().at(0).as_object();
    EXPECT_EQ(peer.at("name"), "h1");
    EXPECT_EQ(peer.at("leaf"), 1);
    EXPECT_EQ(peer.at("qps"), 1);
    EXPECT_DOUBLE_EQ(peer.at("tx_bits_per_s").as_double(), 4e6);
    const json::object &qp = view.at("qps").as_array().at(0).as_object();
    EXPECT_EQ(qp.at("qpn"), qpn);
    EXPECT_EQ(qp.at("peer"), "h1");
    EXPECT_EQ(qp.at("client").at("command"), "train");
    EXPECT_EQ(view.at("clients").as_array().at(0).at("pid"), 4711);
}

TEST(mrc_view_host, lists_the_busiest_queue_pairs_only)
{
    sending_host host;
    for (std::uint32_t number = 100; number < 300; ++number) {
        mrc_qp_row qp{};
        qp.qpn = number;
        host.before.counters.qps.emplace(number, qp);
        qp.tx_bytes = number;
        host.now.counters.qps.emplace(number, qp);
    }
    const json::object view = host_view(host.look(), "x", names);
    EXPECT_EQ(view.at("qp_count"), 201);
    EXPECT_EQ(view.at("qps").as_array().size(), most_queue_pairs);
    EXPECT_EQ(view.at("qps").at(0).at("qpn"), qpn) << "which sends most";
    EXPECT_EQ(view.at("qps").at(1).at("qpn"), 299);
}

TEST(mrc_view_link, tells_who_uses_it_and_why_it_is_blamed)
{
    sending_host host;
    path_in(host.now, 1, 1).path.state = MRC_PATH_ASSUMED_BAD;
    numbered_ring events{10};
    events.add({{"host", "h0"}, {"plane", 1}, {"leaf", 1}, {"uplink", 0}, {"text", "another uplink"}});
    events.add({{"host", "h0"}, {"plane", 1}, {"leaf", 1}, {"uplink", 1}, {"text", "packets are lost"}});
    events.add({{"host", "h9"}, {"plane", 1}, {"leaf", 1}, {"uplink", 1}, {"text", "another host"}});
    events.add({{"host", "h0"}, {"plane", 0}, {"leaf", 1}, {"text", "another plane"}});
    const link_key key{.plane = 1, .a = "p1t0-1", .b = "p1t1-1"};
    const host_look look = host.look();
    const json::object use = link_use(key, {&look, 1}, names, {}, events);
    ASSERT_EQ(use.at("listed_paths").as_array().size(), 1U);
    EXPECT_EQ(use.at("listed_paths").at(0).at("state"), "assumed_bad");
    EXPECT_DOUBLE_EQ(use.at("listed_paths").at(0).at("loss").as_double(), 0.1);
    EXPECT_EQ(use.at("qps").at(0).at("client").at("command"), "train");
    EXPECT_EQ(use.at("peers").at(0), "h1");
    ASSERT_EQ(use.at("events").as_array().size(), 1U);
    EXPECT_EQ(use.at("events").at(0).at("text"), "packets are lost");
}

TEST(mrc_view_link, is_blamed_in_words)
{
    EXPECT_EQ(reason_in_words({}), "no path that is known here leads over it");
    EXPECT_EQ(reason_in_words({.paths = 4, .good = 2}), "2 of 4 paths over it are out of use");
    EXPECT_EQ(reason_in_words({.paths = 4}), "all 4 paths over it are out of use");
    EXPECT_EQ(reason_in_words({.sent = 1000, .lost = 51, .paths = 4, .good = 4}),
              "5.1 % of the 1000 packets sent over it were lost, on this link or another of their way");
    EXPECT_EQ(reason_in_words({.paths = 4, .good = 4, .down_reason = "no carrier"}),
              "the port at its end is out of use: no carrier");
}

TEST(mrc_view_ring, gives_what_a_page_does_not_have_yet)
{
    numbered_ring ring{2};
    for (const char *text : {"a", "b", "c"})
        ring.add({{"text", text}});
    EXPECT_EQ(ring.after(0).size(), 2U) << "the first has gone";
    EXPECT_EQ(ring.after(2).size(), 1U);
    EXPECT_EQ(ring.after(2).at(0).at("text"), "c");
    EXPECT_TRUE(ring.after(3).empty());
    EXPECT_EQ(ring.after(99).size(), 2U) << "a page of an earlier process";
}

} // namespace
} // namespace mrc::view
