// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/lab/description.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <gtest/gtest.h>

#include "tools/mrc-view/lab/order.h"
#include "tools/mrc-view/nodes.h"

namespace mrc::view
{
namespace
{

// As `mrc-lab status --json` says it.
constexpr const char *status = R"({
  "prefix": "x", "phase": "up", "fabric": "srv6", "planes": 2, "directory": "/run/mrc-lab/x",
  "hosts": [{"name": "h0", "instance": "x-h0", "mrc_address": "fd6d:7263::0:0", "ipv4_address": null,
             "plane_addresses": ["fd6d:7263:0:1::"]}],
  "switches": [{"name": "p0t0-0", "state": "up"}, {"name": "p0t1-0", "state": "up"},
               {"name": "p1t0-0", "state": "down"}, {"name": "p1t1-0", "state": "up"}],
  "links": [{"a": "h0", "b": "p0t0-0", "a_dev": "p0", "b_dev": "d0", "state": "up"},
            {"a": "p0t0-0", "b": "p0t1-0", "a_dev": "u0", "b_dev": "d0", "state": "up"},
            {"a": "h0", "b": "p1t0-0", "a_dev": "p1", "b_dev": "d0", "state": "down"},
            {"a": "p1t0-0", "b": "p1t1-0", "a_dev": "u0", "b_dev": "d0", "state": "down"}],
  "impairments": [{"from": "p0t0-0", "to": "p0t1-0", "loss": "5%"}]})";

std::string arguments(const std::string &order)
{
    const auto made = arguments_of(order, parse_lab(status));
    if (!made)
        return made.error();
    std::string line = "mrc-lab";
    for (const std::string &word : *made)
        line += " " + word;
    return line;
}

TEST(mrc_view_lab, is_what_mrc_lab_says)
{
    const lab_description lab = parse_lab(status);
    EXPECT_EQ(lab.hosts.at(0).instance, "x-h0");
    EXPECT_EQ(lab.names.at("fd6d:7263:0:1::"), "h0");
    EXPECT_EQ(lab.neighbours.at({"h0", 1}), "p1t0-0");
    EXPECT_EQ(lab.links.at(3).key, (link_key{.plane = 1, .a = "p1t0-0", .b = "p1t1-0"}));
    EXPECT_EQ(lab.links.at(1).impairment, "loss 5% from p0t0-0 to p0t1-0");
    EXPECT_EQ(lab.cut_switches, std::vector<std::string>{"p1t0-0"});
    const boost::json::object view = lab_view(lab);
    EXPECT_EQ(view.at("planes").at(0).at("cut"), false);
    EXPECT_EQ(view.at("planes").at(1).at("cut"), true);
}

TEST(mrc_view_lab, cables_between_hosts_are_told_apart_by_plane)
{
    const lab_description lab = parse_lab(R"({"prefix": "x", "fabric": "direct", "planes": 2, "directory": "/x",
      "hosts": [{"name": "h0", "instance": "x-h0", "mrc_address": "fd00::", "ipv4_address": null, "plane_addresses": []},
                {"name": "h1", "instance": "x-h1", "mrc_address": "fd00::1", "ipv4_address": null,
                 "plane_addresses": []}],
      "switches": [], "impairments": [],
      "links": [{"a": "h0", "b": "h1", "a_dev": "p0", "b_dev": "p0", "state": "up"},
                {"a": "h0", "b": "h1", "a_dev": "p1", "b_dev": "p1", "state": "carrier-down"}]})");
    EXPECT_EQ(lab.links.at(1).key, (link_key{.plane = 1, .a = "h0", .b = "h1"}));
    EXPECT_EQ(lab.neighbours.at({"h1", 1}), "h0");
    EXPECT_EQ(lab_view(lab).at("planes").at(1).at("cut"), true);
    EXPECT_FALSE(lab.impairs);
}

TEST(mrc_view_lab, refuses_what_is_no_description)
{
    for (const char *wrong : {"", "[]", "{}", "{\"prefix\": 1}"})
        EXPECT_THROW((void)parse_lab(wrong), std::runtime_error) << wrong;
}

TEST(mrc_view_lab, links_show_what_the_lab_did_to_them)
{
    const lab_description lab = parse_lab(status);
    link_table links;
    for (const lab_link &link : lab.links)
        links[link.key];
    links[{.plane = 7, .a = "elsewhere", .b = "plane 7"}];
    boost::json::array views = links_view(links);
    add_lab_state(views, lab);
    const auto of = [&](const char *a, const char *b) {
        return *std::ranges::find_if(views, [&](const auto &view) { return view.at("a") == a && view.at("b") == b; });
    };
    EXPECT_EQ(of("h0", "p1t0-0").at("lab"), "down");
    EXPECT_EQ(of("p0t0-0", "p0t1-0").at("impairment"), "loss 5% from p0t0-0 to p0t1-0");
    EXPECT_TRUE(of("elsewhere", "plane 7").at("lab").is_null());
    const boost::json::array nodes = nodes_view(links);
    const auto kind = [&](const char *name) {
        return std::ranges::find_if(nodes, [&](const auto &node) { return node.at("name") == name; })->at("kind");
    };
    EXPECT_EQ(kind("p0t1-0"), "spine");
    EXPECT_EQ(kind("p1t0-0"), "leaf");
    EXPECT_EQ(kind("plane 7"), "network");
    EXPECT_EQ(kind("elsewhere"), "host");
}

TEST(mrc_view_orders, become_commands_of_mrc_lab)
{
    EXPECT_EQ(arguments(R"({"do": "cut", "plane": 1})"), "mrc-lab plane 1 down");
    EXPECT_EQ(arguments(R"({"do": "restore", "plane": 0})"), "mrc-lab plane 0 up");
    EXPECT_EQ(arguments(R"({"do": "cut", "a": "p0t1-0", "b": "p0t0-0"})"), "mrc-lab link p0t1-0 p0t0-0 down");
    EXPECT_EQ(arguments(R"({"do": "impair", "a": "h0", "b": "p0t0-0", "loss": 2.5})"),
              "mrc-lab impair h0 p0t0-0 --loss 2.500%");
    EXPECT_EQ(arguments(R"({"do": "impair", "a": "h0", "b": "p0t0-0", "loss": 0})"),
              "mrc-lab impair h0 p0t0-0 --clear");
}

TEST(mrc_view_orders, name_only_what_the_lab_has)
{
    EXPECT_EQ(arguments("x"), "an order is a JSON object");
    EXPECT_EQ(arguments("[]"), "an order is a JSON object");
    EXPECT_EQ(arguments(R"({"do": "down"})"), "do: 'down'; allowed: cut, restore, impair");
    EXPECT_EQ(arguments(R"({"do": "cut", "plane": 2})"), "plane: allowed: 0 to 1");
    EXPECT_EQ(arguments(R"({"do": "cut", "plane": -1})"), "plane: allowed: 0 to 1");
    EXPECT_EQ(arguments(R"({"do": "cut", "plane": "1 down; reboot"})"), "plane: allowed: 0 to 1");
    EXPECT_EQ(arguments(R"({"do": "cut", "a": "--help", "b": "h0"})"),
              "a and b: the lab has no link between '--help' and 'h0'");
    for (const char *loss : {"-1", "101", "\"5\"", "null"})
        EXPECT_NE(arguments(std::string{R"({"do": "impair", "a": "h0", "b": "p0t0-0", "loss": )"} + loss + "}")
                      .find("allowed: 0 to 100"),
                  std::string::npos)
            << loss;
}

} // namespace
} // namespace mrc::view
