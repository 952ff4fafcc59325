// SPDX-License-Identifier: Apache-2.0
// A fabric of the test's own answers: loops come back whose carriers name switches that are there, in an order in which
// they are cabled.
#include "tools/setup/srv6/place_search.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/srv6_fabric.h"

namespace mrc::setup
{
namespace
{

using protocol::plane_index;
using service::host_place;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct seat {
    plane_index plane;
    host_place place;
};

class made_fabric
{
public:
    made_fabric(std::uint32_t leaves, std::uint32_t spines, std::vector<seat> seats)
        : leaves_{leaves}, spines_{spines}, seats_{std::move(seats)}
    {
    }

    service::fabric_options options;     // the plan of its switches
    std::set<std::uint32_t> dead_spines; // on plane 0
    bool loses_every_other = false;
    std::size_t asked = 0;

    std::vector<bool> answer(std::span<const loop_question> loops)
    {
        std::vector<bool> came;
        for (const loop_question &loop : loops)
            came.push_back(comes_back(loop) && (!loses_every_other || asked++ % 2 == 1));
        return came;
    }

    found_place find(place_wish wish = {})
    {
        for (std::size_t port = 0; port < seats_.size(); ++port)
            wish.devices.push_back("eth" + std::to_string(port));
        std::map<std::string, double> last;
        return find_place(
            wish, [this](std::span<const loop_question> loops) { return answer(loops); },
            [&](const std::string &device, double part) {
                EXPECT_GE(part, last[device]);
                EXPECT_LE(part, 1);
                last[device] = part;
            });
    }

private:
    struct less {
        bool operator()(const mrc_ip &a, const mrc_ip &b) const
        {
            return std::ranges::lexicographical_compare(a.bytes, b.bytes);
        }
    };
    using carriers = std::set<mrc_ip, less>;

    bool comes_back(const loop_question &loop)
    {
        if (good_.empty())
            for (const seat &from : seats_)
                good_.push_back(carriers_of(from));
        return good_.at(loop.port).contains(loop.carrier);
    }

    [[nodiscard]] carriers carriers_of(const seat &from) const
    {
        const service::usid_plan usids{options.usids};
        const std::uint16_t own = usids.leaf(from.plane, from.place.leaf);
        const std::uint16_t host = usids.host(from.plane, from.place.downlink);
        carriers good{usids.carrier({own, host})};
        for (std::uint32_t spine = 0; spine < spines_; ++spine) {
            if (from.plane.value == 0 && dead_spines.contains(spine))
                continue;
            const std::uint16_t over = usids.spine(from.plane, spine);
            good.insert(usids.carrier({own, over, own, host}));
            for (std::uint32_t leaf = 0; leaf < leaves_ && usids.block_bytes() <= 4; ++leaf)
                good.insert(usids.carrier({own, over, usids.leaf(from.plane, leaf), over, own, host}));
        }
        return good;
    }

    std::uint32_t leaves_;
    std::uint32_t spines_;
    std::vector<seat> seats_;
    std::vector<carriers> good_; // by port
};

std::vector<unsigned> numbers(const std::vector<plane_index> &planes)
{
    std::vector<unsigned> all;
    all.reserve(planes.size());
    for (const plane_index plane : planes)
        all.push_back(plane.value);
    return all;
}

std::string refusal(made_fabric &fabric, const place_wish &wish = {})
{
    try {
        (void)fabric.find(wish);
    } catch (const std::runtime_error &why) {
        return why.what();
    }
    return "";
}

TEST(place_search, finds_leaf_downlink_planes_and_the_fabric_s_size)
{
    constexpr host_place here{.leaf = 5, .downlink = 17};
    made_fabric fabric{12, 6, {{plane_index{3}, here}, {plane_index{0}, here}, {plane_index{1}, here}}};
    const found_place found = fabric.find();
    EXPECT_EQ(found.place, here);
    EXPECT_THAT(numbers(found.planes), ElementsAre(3, 0, 1));
    EXPECT_EQ(found.fabric.planes, 4);
    EXPECT_EQ(found.fabric.uplinks, 6U);
    EXPECT_EQ(found.fabric.leaves, 12U);
    EXPECT_TRUE(found.remarks.empty());
}

TEST(place_search, the_largest_place_and_the_smallest_are_found)
{
    for (const host_place here : {host_place{.leaf = 255, .downlink = 255}, {.leaf = 0, .downlink = 0}}) {
        made_fabric fabric{256, 1, {{plane_index{7}, here}}};
        EXPECT_EQ(fabric.find().place, here);
    }
}

TEST(place_search, what_is_lost_once_is_asked_again)
{
    constexpr host_place here{.leaf = 1, .downlink = 2};
    made_fabric fabric{2, 4, {{plane_index{0}, here}, {plane_index{1}, here}}};
    fabric.loses_every_other = true;
    const found_place found = fabric.find();
    EXPECT_EQ(found.place, here);
    EXPECT_EQ(found.fabric.uplinks, 4U);
    EXPECT_EQ(found.fabric.leaves, 2U);
}

TEST(place_search, silent_spines_are_named)
{
    constexpr host_place here{.leaf = 0, .downlink = 0};
    made_fabric fabric{1, 4, {{plane_index{0}, here}, {plane_index{1}, here}}};
    fabric.dead_spines = {1, 3};
    const found_place found = fabric.find();
    EXPECT_EQ(found.fabric.uplinks, 4U);
    EXPECT_THAT(found.remarks, ElementsAre("plane 0: no loop comes back by spine 1, 3"));
}

TEST(place_search, a_fabric_of_one_leaf_needs_no_spine)
{
    made_fabric fabric{1, 0, {{plane_index{0}, {}}}};
    const found_place found = fabric.find();
    EXPECT_EQ(found.fabric.uplinks, 1U);
    EXPECT_EQ(found.fabric.leaves, 1U);
}

TEST(place_search, planes_that_uSIDs_do_not_tell_are_the_ports_in_their_order)
{
    constexpr host_place here{.leaf = 2, .downlink = 1};
    made_fabric fabric{3, 2, {{plane_index{0}, here}, {plane_index{1}, here}}};
    fabric.options.usids.leaf = {*service::parse_usid_pattern("20II")};
    fabric.options.usids.spine = {*service::parse_usid_pattern("10II")};
    fabric.options.usids.host = *service::parse_usid_pattern("80II");
    fabric.options.planes = 2;
    fabric.options.leaves = 3;
    fabric.options.uplinks = 2;
    const found_place found = fabric.find({.fabric = fabric.options, .shape_is_known = true});
    EXPECT_EQ(found.place, here);
    EXPECT_THAT(numbers(found.planes), ElementsAre(0, 1));
}

TEST(place_search, a_shape_that_is_known_holds_and_what_is_missing_is_named)
{
    made_fabric fabric{2, 2, {{plane_index{0}, {}}}};
    fabric.options.usids.block = {.address = {{0xfd, 0x00, 0, 1, 0, 2}}, .length = 48};
    fabric.options.planes = 4;
    fabric.options.leaves = 9;
    fabric.options.uplinks = 3;
    const found_place found = fabric.find({.fabric = fabric.options, .shape_is_known = true});
    EXPECT_EQ(found.fabric.planes, 4);
    EXPECT_EQ(found.fabric.leaves, 9U);
    EXPECT_EQ(found.fabric.uplinks, 3U);
    EXPECT_THAT(found.remarks, ElementsAre("plane 0: no loop comes back by spine 2"));
}

TEST(place_search, a_place_that_is_given_is_asked_for_alone)
{
    constexpr host_place here{.leaf = 200, .downlink = 100};
    made_fabric fabric{201, 1, {{plane_index{0}, here}}};
    EXPECT_EQ(fabric.find({.leaf = 200, .downlink = 100}).place, here);
    EXPECT_THAT(refusal(fabric, {.leaf = 1, .downlink = 1}), HasSubstr("leaves 1, downlinks 1:"));
}

TEST(place_search, leaves_beyond_those_that_are_tried_are_found_where_the_own_one_is_given)
{
    constexpr host_place here{.leaf = 300, .downlink = 3};
    made_fabric fabric{512, 2, {{plane_index{0}, here}}};
    const found_place found = fabric.find({.leaf = 300});
    EXPECT_EQ(found.place, here);
    EXPECT_EQ(found.fabric.leaves, 512U);
    EXPECT_THAT(refusal(fabric), HasSubstr("leaves 0 to 255"));
}

TEST(place_search, of_many_that_are_silent_a_few_are_named)
{
    made_fabric fabric{1, 64, {{plane_index{0}, {}}}};
    for (std::uint32_t spine = 0; spine < 63; ++spine)
        fabric.dead_spines.insert(spine);
    const found_place found = fabric.find();
    ASSERT_EQ(found.remarks.size(), 1U);
    EXPECT_THAT(found.remarks[0], HasSubstr("by spine 0, 1, 2"));
    EXPECT_THAT(found.remarks[0], HasSubstr("14, 15 and 47 more"));
}

TEST(place_search, nothing_comes_back)
{
    made_fabric fabric{1, 1, {{plane_index{0}, {}}}};
    fabric.options.usids.block = {.address = {{0xfc, 0x00}}, .length = 32};
    EXPECT_THAT(refusal(fabric), HasSubstr("no loop came back on eth0, of block fcbb:bb00::/32, leaves 0 to 255"));
}

TEST(place_search, ports_at_two_places_or_on_one_plane_are_refused)
{
    made_fabric crossed{
        4, 1, {{plane_index{0}, {.leaf = 1, .downlink = 0}}, {plane_index{1}, {.leaf = 3, .downlink = 2}}}};
    EXPECT_THAT(refusal(crossed),
                HasSubstr("eth1 is at downlink 2 of leaf 3, and eth0 at downlink 0 of leaf 1: a host has the same"));
    made_fabric twice{4, 1, {{plane_index{2}, {}}, {plane_index{2}, {}}}};
    EXPECT_THAT(refusal(twice), HasSubstr("eth0 and eth1 are both on plane 2"));
}

TEST(place_search, a_port_whose_leaf_is_silent_is_named)
{
    made_fabric fabric{1, 1, {{plane_index{0}, {}}, {plane_index{1}, {.leaf = 300, .downlink = 0}}}};
    EXPECT_THAT(refusal(fabric), HasSubstr("no loop came back on eth1, while eth0 is at downlink 0 of leaf 0"));
}

} // namespace
} // namespace mrc::setup
