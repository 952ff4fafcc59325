// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/fabric_plan/switch_text.h"

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "mrc/abi/srv6.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr unsigned usid_bits = 8 * MRC_USID_BYTES;
constexpr std::string_view locator = "MRC";

// A seg6local route needs a device that stays: FRR looks for one of this name. A veth pair, for not every kernel has
// dummy devices.
constexpr std::string_view anchor = "sr0";
constexpr std::string_view anchor_peer = "sr1";

std::string title(const fabric_switch &node, std::string_view comment)
{
    return fmt::format("{} {}: {} {} of plane {}, uSID {:04x}\n", comment, node.name, node.tier == 0 ? "leaf" : "spine",
                       node.number, node.plane, node.usid);
}

std::string make_anchor(std::string_view before)
{
    return fmt::format("{0}ip link show dev {1} >/dev/null 2>&1 || ip link add name {1} type veth peer name {2}\n"
                       "{0}ip link set dev {1} up\n"
                       "{0}ip link set dev {2} up\n"
                       "{0}sysctl -q -w net.ipv6.conf.all.forwarding=1\n",
                       before, anchor, anchor_peer);
}

std::string iproute2_text(const fabric_switch &node, unsigned block_bits)
{
    std::string text = title(node, "#") + make_anchor("");
    text += fmt::format(
        "ip -6 route replace {} encap seg6local action End flavors next-csid lblen {} nflen {} count dev {}\n",
        node.prefix, block_bits, usid_bits, anchor);
    for (const switch_route &route : node.routes)
        text += fmt::format("ip -6 route replace {} via {} dev {}\n", route.prefix, route.via, route.device);
    return text;
}

std::string frr_text(const fabric_switch &node, unsigned block_bits)
{
    std::string text = title(node, "!") + "! before FRR starts:\n" + make_anchor("!   ");
    text += fmt::format("segment-routing\n"
                        " srv6\n"
                        "  locators\n"
                        "   locator {0}\n"
                        "    prefix {1} block-len {2} node-len {3} func-bits {3}\n"
                        "    behavior usid\n"
                        "   exit\n"
                        "  exit\n"
                        "  static-sids\n"
                        "   sid {1} locator {0} behavior uN\n"
                        "  exit\n"
                        " exit\n"
                        "exit\n",
                        locator, node.prefix, block_bits, usid_bits);
    for (const switch_route &route : node.routes)
        text += fmt::format("ipv6 route {} {} {}\n", route.prefix, route.via, route.device);
    return text;
}

} // namespace

// Values are strings, as Redis has them.
json::object sonic_tables(const fabric_switch &node, unsigned block_bits)
{
    json::object routes;
    for (const switch_route &route : node.routes)
        routes[fmt::format("default|{}", route.prefix)] =
            json::object{{"nexthop", route.via}, {"ifname", route.device}, {"distance", "0"}, {"blackhole", "false"}};
    const std::string node_bits = std::to_string(usid_bits);
    return {{"SRV6_MY_LOCATORS",
             {{locator,
               {{"prefix", node.address},
                {"block_len", std::to_string(block_bits)},
                {"node_len", node_bits},
                {"func_len", node_bits},
                {"arg_len", "0"},
                {"vrf", "default"}}}}},
            {"SRV6_MY_SIDS",
             {{fmt::format("{}|{}", locator, node.prefix), {{"action", "uN"}, {"decap_dscp_mode", "uniform"}}}}},
            {"STATIC_ROUTE", routes}};
}

std::string switch_text(const fabric_switch &node, unsigned block_bits, switch_language language)
{
    switch (language) {
    case switch_language::iproute2:
        return iproute2_text(node, block_bits);
    case switch_language::frr:
        return frr_text(node, block_bits);
    case switch_language::sonic:
        return json::serialize(sonic_tables(node, block_bits)) + '\n';
    }
    return {};
}

} // namespace mrc::ctl
