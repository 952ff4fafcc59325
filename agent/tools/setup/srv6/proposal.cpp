// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "kernel/probes/device.h"
#include "kernel/probes/xdp_attach.h"
#include "service/config/options.h"
#include "service/srv6_fabric.h"
#include "session/host_names.h"
#include "tools/setup/proposal.h"
#include "tools/setup/srv6/place_search.h"

namespace mrc::setup
{

namespace
{

namespace json = boost::json;
using service::daemon_config;

constexpr std::chrono::milliseconds longest_router_search{5000};

daemon_config config_like(const std::string &file)
{
    auto config = service::load_config(file);
    if (!config)
        throw std::runtime_error{"--like: " + config.error().text()};
    if (config->fabric.mode != service::fabric_mode::srv6)
        throw std::runtime_error{fmt::format("--like: {} is in direct mode; a configuration in SRv6 mode is allowed, "
                                             "of another host of the fabric",
                                             file)};
    return *std::move(config);
}

// On a terminal, one line that goes when it is done: only where no small number is right does it take seconds.
class progress_line
{
public:
    progress_line() = default;
    progress_line(const progress_line &) = delete;
    progress_line &operator=(const progress_line &) = delete;
    ~progress_line()
    {
        if (is_shown_)
            fmt::print(stderr, "\r\033[K");
    }
    void show(const std::string &device, double part)
    {
        if (::isatty(STDERR_FILENO) == 0)
            return;
        fmt::print(stderr, "\r{}: {:.0f} % of all places are tried\033[K", device, part * 100);
        is_shown_ = true;
    }

private:
    bool is_shown_ = false;
};

// What a file says of the fabric beside its shape, as one line each, with the rows of [[usid]].
std::string plan_text(const daemon_config &like)
{
    std::string text;
    for (const options::part &part : service::config_options().parts()) {
        if (part.key != "fabric" && part.key != "usid")
            continue;
        for (std::size_t row = 0; row < part.count(&like); ++row) {
            std::vector<std::string> given;
            for (const options::option &each : part.content->options()) {
                const bool is_shape = each.key == "planes" || each.key == "leaves" || each.key == "uplinks";
                if (like.origin.has(fmt::format("{}.{}", part.name(row), each.key)) && !is_shape)
                    given.push_back(fmt::format("{} = {}", each.key, each.as_toml(part.at(&like, row))));
            }
            for (const std::string &line : given)
                text += part.is_repeated ? "" : fmt::format("fabric.{}\n", line);
            if (part.is_repeated)
                text += fmt::format("{}{{ {} }}{}", row == 0 ? "usid = [" : "        ", fmt::join(given, ", "),
                                    row + 1 == part.count(&like) ? "]\n" : ",\n");
        }
    }
    return text;
}

std::string config_text(const found_place &found, const std::string &plan, const proposal_wish &of)
{
    std::string text =
        fmt::format("# mrcd(8) on {}, by mrcctl setup --srv6. The fabric, the same on all hosts:\n", own_name());
    const auto to = std::back_inserter(text);
    if (of.instance != "default")
        fmt::format_to(to, "daemon.instance = \"{}\"\n", of.instance);
    fmt::format_to(to, "{}fabric.planes = {}\nfabric.leaves = {}\nfabric.uplinks = {}\n", plan, found.fabric.planes,
                   found.fabric.leaves, found.fabric.uplinks);
    fmt::format_to(to, "# Where this host is in it, and its ports.\nhost.leaf = {}\nhost.downlink = {}\n",
                   found.place.leaf, found.place.downlink);
    std::vector<std::string> ports;
    ports.reserve(of.ports.size());
    for (std::size_t port = 0; port < of.ports.size(); ++port)
        ports.push_back(fmt::format(R"({{ device = "{}", plane = {} }})", of.ports[port], found.planes[port].value));
    fmt::format_to(to, "port = [{}]\n", fmt::join(ports, ",\n        "));
    return text;
}

// An mrcd that runs takes all loops that come in, also those that are none of its own.
void require_free(const proposal_wish &of)
{
    for (const std::string &port : of.ports)
        if (const auto holder = kernel::probes::find_xdp_holder(kernel::probes::ifindex_of(port)))
            throw std::runtime_error{
                fmt::format("{} has {}, and loops that come back would not get past it; end what runs there, an mrcd "
                            "by systemctl stop mrcd{}",
                            port, holder->text(), of.instance == "default" ? "" : "@" + of.instance)};
}

found_place find(const proposal_wish &of, const place_wish &wish)
{
    require_free(of);
    loop_line line{of.ports};
    const std::vector<std::string> lacking = line.find_routers(longest_router_search);
    if (!lacking.empty())
        throw std::runtime_error{
            fmt::format("{}; --ports names other ports, and direct mode, mrcctl setup without --srv6, needs no routers",
                        fmt::join(lacking, "; "))};
    say(fmt::format("sending loops over the switches of block {} by {}", service::to_text(wish.fabric.usids.block),
                    fmt::join(of.ports, ", ")));
    progress_line progress;
    return find_place(
        wish, [&](std::span<const loop_question> loops) { return line.ask(loops); },
        [&](const std::string &device, double part) { progress.show(device, part); });
}

} // namespace

proposal propose_srv6(const proposal_wish &of)
{
    const srv6_wish wish = of.wish.srv6.value_or(srv6_wish{});
    daemon_config config;
    const bool is_like = !wish.like.empty();
    if (is_like)
        config = config_like(wish.like);
    const std::string plan = is_like ? plan_text(config) : "";
    const found_place found = find(of, {.fabric = config.fabric,
                                        .shape_is_known = is_like,
                                        .leaf = wish.leaf,
                                        .downlink = wish.downlink,
                                        .devices = of.ports});
    config.fabric = found.fabric;
    config.host = {.address = {}, .leaf = found.place.leaf, .downlink = found.place.downlink};
    const service::srv6_fabric rules{config};
    const std::string address = service::to_text(rules.address_of(found.place));

    for (const std::string &peer : of.wish.peers)
        if (const auto given = service::parse_ip(peer); given ? !rules.host_of(*given) : !session::is_host_name(peer))
            throw std::runtime_error{fmt::format("--peer: '{}' is no host of this fabric; allowed: an address of one, "
                                                 "as {} for this one, or a name",
                                                 peer, address)};

    say(fmt::format("this host is {}: downlink {} of leaf {}, {} plane{}, {} spine{} a plane, {} lea{}", address,
                    found.place.downlink, found.place.leaf, found.fabric.planes, found.fabric.planes == 1 ? "" : "s",
                    found.fabric.uplinks, found.fabric.uplinks == 1 ? "" : "s", found.fabric.leaves,
                    found.fabric.leaves == 1 ? "f" : "ves"));
    json::array remarks;
    for (const std::string &line : found.remarks) {
        say(line);
        remarks.emplace_back(line);
    }
    std::vector<port_seat> seats;
    seats.reserve(found.planes.size());
    for (const protocol::plane_index plane : found.planes)
        if (const auto on_plane = rules.address_of(found.place, plane)) // of an SRv6 fabric, each has one
            seats.push_back({.plane = plane.value, .address = service::to_text(*on_plane)});
    return {.text = config_text(found, plan, of),
            .addresses = {},
            .seats = std::move(seats),
            .question = "Is that this host's place in the fabric? Write",
            .next = of.wish.peers.empty()
                        ? fmt::format("mrc-perf here, then mrc-perf {} on another host that is set up", address)
                        : fmt::format("mrc-perf on {0}, then mrc-perf {0} here", of.wish.peers.front()),
            .view = {{"mode", "srv6"},
                     {"name", own_name()},
                     {"address", address},
                     {"leaf", found.place.leaf},
                     {"downlink", found.place.downlink},
                     {"planes", found.fabric.planes},
                     {"leaves", found.fabric.leaves},
                     {"uplinks", found.fabric.uplinks},
                     {"peers", json::array{}},
                     {"remarks", std::move(remarks)}}};
}

} // namespace mrc::setup
