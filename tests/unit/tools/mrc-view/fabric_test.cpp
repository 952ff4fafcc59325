// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/fabric.h"

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include "unit/tools/mrc-view/rows.h"

namespace mrc::view
{
namespace
{

using namespace testing;

struct two_looks {
    host_rows before = rows_at(1'000'000'000);
    host_rows now = rows_at(2'000'000'000);

    [[nodiscard]] link_table links() const
    {
        link_table table;
        add_links(table, {.place = place_of("h0", now), .long_ago = &before, .before = &before, .now = &now}, names,
                  {});
        return table;
    }
};

link_figures figures_of(const link_table &links, std::uint32_t plane, const char *a, const char *b)
{
    const auto found = links.find({.plane = plane, .a = a, .b = b});
    EXPECT_NE(found, links.end()) << a << " " << b;
    return found == links.end() ? link_figures{} : found->second;
}

TEST(mrc_view_fabric, a_path_leads_over_ports_leaves_and_its_spine)
{
    const link_table links = two_looks{}.links();
    EXPECT_EQ(links.size(), planes * (2 + 2 * spines)) << "both hosts' ports, and each leaf with each spine";
    EXPECT_EQ(figures_of(links, 0, "h0", "p0t0-0").paths, spines);
    EXPECT_EQ(figures_of(links, 1, "p1t0-0", "p1t1-1").paths, 1U);
    EXPECT_EQ(figures_of(links, 1, "p1t0-1", "p1t1-1").paths, 1U);
    EXPECT_EQ(figures_of(links, 1, "h1", "p1t0-1").paths, spines);
}

TEST(mrc_view_fabric, load_is_that_of_the_direction)
{
    two_looks host;
    send(host.now, 0, 1, 500);
    host.now.counters.ports[0].rx_bytes = 2000;
    const link_table links = host.links();
    EXPECT_DOUBLE_EQ(figures_of(links, 0, "h0", "p0t0-0").up_bits_per_s, 4e6);
    EXPECT_DOUBLE_EQ(figures_of(links, 0, "h0", "p0t0-0").down_bits_per_s, 16000);
    EXPECT_DOUBLE_EQ(figures_of(links, 0, "p0t0-0", "p0t1-1").up_bits_per_s, 4e6);
    EXPECT_DOUBLE_EQ(figures_of(links, 0, "p0t0-0", "p0t1-1").down_bits_per_s, 0);
    EXPECT_DOUBLE_EQ(figures_of(links, 0, "p0t0-1", "p0t1-1").down_bits_per_s, 4e6);
    EXPECT_DOUBLE_EQ(figures_of(links, 0, "p0t0-0", "p0t1-0").up_bits_per_s, 0) << "nothing went by spine 0";
}

TEST(mrc_view_fabric, a_lossy_spine_stands_out_from_what_it_shares)
{
    two_looks host;
    send(host.now, 0, 0, 1000);
    send(host.now, 0, 1, 1000, 50);
    const link_table links = host.links();
    EXPECT_DOUBLE_EQ(loss_of(figures_of(links, 0, "p0t0-0", "p0t1-1")).value(), 0.05);
    EXPECT_DOUBLE_EQ(loss_of(figures_of(links, 0, "p0t0-0", "p0t1-0")).value(), 0);
    EXPECT_DOUBLE_EQ(loss_of(figures_of(links, 0, "h0", "p0t0-0")).value(), 0.025);
    EXPECT_EQ(loss_of(figures_of(links, 1, "h0", "p1t0-0")), std::nullopt);
    EXPECT_EQ(state_of(figures_of(links, 0, "p0t0-0", "p0t1-1")), link_state::lossy);
    EXPECT_EQ(state_of(figures_of(links, 0, "p0t0-0", "p0t1-0")), link_state::good);
}

TEST(mrc_view_fabric, links_are_dark_when_none_of_their_paths_is_in_use)
{
    two_looks host;
    path_in(host.now, 1, 0).path.state = MRC_PATH_ASSUMED_BAD;
    link_table links = host.links();
    EXPECT_EQ(state_of(figures_of(links, 1, "p1t0-0", "p1t1-0")), link_state::dark);
    EXPECT_EQ(state_of(figures_of(links, 1, "h0", "p1t0-0")), link_state::partly);
    EXPECT_EQ(state_of(figures_of(links, 1, "p1t0-0", "p1t1-1")), link_state::good);
    path_in(host.now, 1, 1).path.state = MRC_PATH_KEPT;
    links = host.links();
    EXPECT_EQ(state_of(figures_of(links, 1, "h0", "p1t0-0")), link_state::dark) << "kept, though bad";
    EXPECT_EQ(state_of(figures_of(links, 0, "h0", "p0t0-0")), link_state::good);
}

TEST(mrc_view_fabric, a_port_that_is_down_says_why)
{
    two_looks host;
    host.now.counters.ports[1].flags = MRC_PORT_PRESENT;
    host.now.counters.ports[1].reason = MRC_PORT_NO_CARRIER;
    const link_table links = host.links();
    EXPECT_EQ(state_of(figures_of(links, 1, "h0", "p1t0-0")), link_state::down);
    EXPECT_EQ(figures_of(links, 1, "h0", "p1t0-0").down_reason, "no carrier");
}

TEST(mrc_view_fabric, a_row_that_became_another_paths_counts_from_zero)
{
    two_looks host;
    send(host.before, 0, 0, 100'000, 90'000);
    path_in(host.before, 0, 0).path.group = 9;
    send(host.now, 0, 0, 100);
    EXPECT_EQ(figures_of(host.links(), 0, "p0t0-0", "p0t1-0").sent, 100U);
    EXPECT_EQ(figures_of(host.links(), 0, "p0t0-0", "p0t1-0").lost, 0U);
}

TEST(mrc_view_fabric, few_packets_make_no_link_lossy)
{
    two_looks host;
    send(host.now, 0, 0, 10, 5);
    EXPECT_EQ(state_of(figures_of(host.links(), 0, "p0t0-0", "p0t1-0")), link_state::good);
}

TEST(mrc_view_fabric, planes_of_direct_mode_are_networks)
{
    two_looks host;
    for (host_rows *rows : {&host.before, &host.now})
        for (numbered_path &one : rows->paths)
            one.path.kind = MRC_CARRIER_DIRECT;
    const link_table links = host.links();
    EXPECT_EQ(links.size(), 2 * planes);
    EXPECT_EQ(figures_of(links, 1, "h0", "plane 1").paths, spines);
    EXPECT_EQ(figures_of(links, 1, "h1", "plane 1").paths, spines);
}

TEST(mrc_view_fabric, cables_are_one_link_for_both_hosts)
{
    two_looks host;
    for (numbered_path &one : host.now.paths)
        one.path.kind = MRC_CARRIER_DIRECT;
    const neighbour_table cables{{{"h0", 0}, "h1"}, {{"h0", 1}, "h1"}, {{"h1", 0}, "h0"}, {{"h1", 1}, "h0"}};
    link_table links;
    add_links(links, {.place = place_of("h0", host.now), .long_ago = &host.now, .before = &host.now, .now = &host.now},
              names, cables);
    EXPECT_EQ(links.size(), planes);
    EXPECT_EQ(figures_of(links, 1, "h0", "h1").paths, spines);
}

TEST(mrc_view_fabric, what_is_not_known_is_null)
{
    const boost::json::array view = links_view(two_looks{}.links());
    const boost::json::object &first = view.front().as_object();
    EXPECT_EQ(first.at("a"), "h0");
    EXPECT_EQ(first.at("state"), "good");
    EXPECT_TRUE(first.at("loss").is_null());
    EXPECT_TRUE(first.at("reason").is_null());
}

} // namespace
} // namespace mrc::view
