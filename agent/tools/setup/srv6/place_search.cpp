// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/srv6/place_search.h"

#include <algorithm>
#include <initializer_list>
#include <ranges>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "service/srv6_fabric.h"

namespace mrc::setup
{

namespace
{

using protocol::plane_index;
using service::host_place;

constexpr std::size_t most_named = 16; // of what is silent
constexpr int tries = 3;               // of loops that are expected to come back
constexpr std::size_t most_usids = 6;  // of a way to another leaf and back

plane_index plane_of(std::uint32_t number)
{
    return plane_index{static_cast<std::uint8_t>(number)};
}

class place_search
{
public:
    place_search(const place_wish &wish, const loop_asker &ask, const search_progress &progress)
        : wish_{wish}, ask_{ask}, progress_{progress}, rules_{config_of(wish)}, usids_{wish.fabric.usids}
    {
    }

    found_place run()
    {
        const std::size_t ports = wish_.devices.size();
        seat first = find_first();
        found_place found{.place = first.place, .planes = {}, .fabric = wish_.fabric, .remarks = {}};
        for (std::size_t port = 0; port < ports; ++port)
            found.planes.push_back(port == first.port ? first.plane : plane_at(port, first));
        require_different(found.planes);
        if (!wish_.shape_is_known)
            found.fabric.planes = std::ranges::max(found.planes).value + 1U;
        if (const bool has_spines = look_at_spines(found) != 0; !wish_.shape_is_known)
            look_at_leaves(found, has_spines);
        return found;
    }

private:
    struct seat {
        std::size_t port = 0;
        plane_index plane;
        host_place place;
    };

    // For the addresses of any place, the largest included.
    static service::daemon_config config_of(const place_wish &wish)
    {
        service::daemon_config config;
        config.fabric = wish.fabric;
        if (!wish.shape_is_known)
            config.fabric.planes = MRC_MAX_PORTS;
        return config;
    }

    // That a port may be on.
    [[nodiscard]] std::vector<plane_index> planes_to_try(std::size_t port) const
    {
        const auto tells = [](const service::usid_pattern &pattern) { return pattern.plane_mask != 0; };
        const bool are_told = tells(wish_.fabric.usids.host) || std::ranges::any_of(wish_.fabric.usids.leaf, tells) ||
                              !wish_.fabric.usids.given.empty();
        if (!are_told)
            return {plane_of(static_cast<std::uint32_t>(port))};
        std::vector<plane_index> planes;
        const std::uint32_t most = wish_.shape_is_known ? wish_.fabric.planes : MRC_MAX_PORTS;
        planes.reserve(most);
        for (std::uint32_t number = 0; number < most; ++number)
            planes.push_back(plane_of(number));
        return planes;
    }

    [[nodiscard]] loop_question question(const seat &from, std::initializer_list<std::uint16_t> between) const
    {
        const std::uint16_t leaf = usids_.leaf(from.plane, from.place.leaf);
        const std::uint16_t host = usids_.host(from.plane, from.place.downlink);
        std::vector<std::uint16_t> way{leaf};
        way.insert(way.end(), between);
        if (between.size() != 0)
            way.push_back(leaf);
        way.push_back(host);
        mrc_ip carrier = usids_.block();
        for (std::size_t at = usids_.block_bytes(); const std::uint16_t usid : way) {
            carrier.bytes[at++] = static_cast<std::uint8_t>(usid >> 8);
            carrier.bytes[at++] = static_cast<std::uint8_t>(usid);
        }
        const auto source = rules_.address_of(from.place, from.plane); // of an SRv6 fabric, each has one
        return {.port = from.port, .source = source.value_or(mrc_ip{}), .carrier = carrier};
    }

    // Some are tried again: which of them came back at last.
    [[nodiscard]] std::vector<bool> ask_again(const std::vector<loop_question> &all) const
    {
        std::vector<bool> answered(all.size());
        for (int round = 0; round < tries; ++round) {
            std::vector<std::size_t> open;
            for (std::size_t at = 0; at < all.size(); ++at)
                if (!answered[at])
                    open.push_back(at);
            for (std::size_t first = 0; first < open.size(); first += loop_line::most_at_once) {
                std::vector<loop_question> some;
                const std::size_t end = std::min(first + loop_line::most_at_once, open.size());
                for (std::size_t at = first; at < end; ++at)
                    some.push_back(all[open[at]]);
                const std::vector<bool> came = ask_(some);
                for (std::size_t at = first; at < end; ++at)
                    answered[open[at]] = came[at - first];
            }
        }
        return answered;
    }

    [[nodiscard]] std::uint32_t leaves_to_try() const
    {
        return wish_.shape_is_known ? wish_.fabric.leaves
                                    : std::min(most_tried_leaves, service::numbers_of(wish_.fabric.usids.leaf));
    }
    [[nodiscard]] std::uint32_t downlinks_to_try() const
    {
        return std::min(wish_.fabric.hosts_per_leaf, wish_.fabric.usids.host.numbers());
    }

    [[nodiscard]] std::uint32_t leaves_to_pass() const { return wish_.leaf ? *wish_.leaf + 1 : leaves_to_try(); }

    // Places whose larger number this is, so that small numbers come first whichever of the two is small.
    [[nodiscard]] std::vector<host_place> shell(std::uint32_t number) const
    {
        const std::uint32_t leaves = leaves_to_pass();
        const std::uint32_t downlinks = downlinks_to_try();
        std::vector<host_place> places;
        const auto add = [&](std::uint32_t leaf, std::uint32_t downlink) {
            if (leaf < leaves && downlink < downlinks && leaf == wish_.leaf.value_or(leaf) &&
                downlink == wish_.downlink.value_or(downlink))
                places.push_back({.leaf = leaf, .downlink = downlink});
        };
        for (std::uint32_t other = 0; other < number; ++other) {
            add(number, other);
            add(other, number);
        }
        add(number, number);
        return places;
    }

    [[nodiscard]] std::optional<seat> find_on(std::size_t port) const
    {
        const std::vector<plane_index> planes = planes_to_try(port);
        const std::uint32_t shells = std::max(leaves_to_pass(), downlinks_to_try());
        std::vector<seat> tried;
        std::optional<seat> found;
        const auto flush = [&] {
            std::vector<loop_question> questions;
            questions.reserve(tried.size());
            for (const seat &each : tried)
                questions.push_back(question(each, {}));
            const std::vector<bool> came = ask_(questions);
            for (std::size_t at = 0; at < tried.size() && !found; ++at)
                if (came[at])
                    found = tried[at];
            tried.clear();
        };
        // What is lost once comes back the next time: each place is tried again one shell later.
        std::vector<host_place> before;
        for (std::uint32_t number = 0; number <= shells && !found; ++number) {
            std::vector<host_place> now = number < shells ? shell(number) : std::vector<host_place>{};
            for (const auto &places : {now, before})
                for (const host_place place : places)
                    for (const plane_index plane : planes) {
                        if (usids_.leaf(plane, place.leaf) != 0)
                            tried.push_back({.port = port, .plane = plane, .place = place});
                        if (tried.size() == loop_line::most_at_once && !found)
                            flush();
                    }
            before = std::move(now);
            const double part = static_cast<double>(number) / shells;
            progress_(wish_.devices[port], part * part);
            if (number == 0 || number == shells) // a host of the first place is at once done
                if (!tried.empty() && !found)
                    flush();
        }
        return found;
    }

    [[nodiscard]] seat find_first() const
    {
        for (std::size_t port = 0; port < wish_.devices.size(); ++port)
            if (const auto found = find_on(port))
                return *found;
        const auto numbers = [](const std::optional<std::uint32_t> &given, std::uint32_t most) {
            return given ? fmt::format("{}", *given) : fmt::format("0 to {}", most - 1);
        };
        throw std::runtime_error{fmt::format(
            "no loop came back on {}, of block {}, leaves {}, downlinks {}: the switches shift no uSIDs, or others "
            "(--like takes the plan of another host's configuration). In direct mode no switch need: mrcctl setup "
            "without --srv6",
            fmt::join(wish_.devices, ", "), service::to_text(wish_.fabric.usids.block),
            numbers(wish_.leaf, leaves_to_try()), numbers(wish_.downlink, downlinks_to_try()))};
    }

    [[nodiscard]] plane_index plane_at(std::size_t port, const seat &first) const
    {
        const std::vector<plane_index> planes = planes_to_try(port);
        std::vector<loop_question> questions;
        questions.reserve(planes.size());
        for (const plane_index plane : planes)
            questions.push_back(question({.port = port, .plane = plane, .place = first.place}, {}));
        const std::vector<bool> came = ask_again(questions);
        if (const auto at = std::ranges::find(came, true); at != came.end())
            return planes[static_cast<std::size_t>(at - came.begin())];
        const auto elsewhere = find_on(port);
        throw std::runtime_error{
            elsewhere
                ? fmt::format("{} is at downlink {} of leaf {}, and {} at downlink {} of leaf {}: a host has the same "
                              "place on all planes; --ports names those that have it",
                              wish_.devices[port], elsewhere->place.downlink, elsewhere->place.leaf,
                              wish_.devices[first.port], first.place.downlink, first.place.leaf)
                : fmt::format("no loop came back on {}, while {} is at downlink {} of leaf {}: --ports leaves it out, "
                              "or look at the switch behind it",
                              wish_.devices[port], wish_.devices[first.port], first.place.downlink, first.place.leaf)};
    }

    void require_different(const std::vector<plane_index> &planes) const
    {
        for (std::size_t one = 0; one < planes.size(); ++one)
            for (std::size_t other = 0; other < one; ++other)
                if (planes[one] == planes[other])
                    throw std::runtime_error{fmt::format("{} and {} are both on plane {}: --ports names one of them",
                                                         wish_.devices[other], wish_.devices[one], planes[one].value)};
    }

    // How many there are by the greatest number that answers; remarks on those below that do not, by plane.
    std::uint32_t count(const found_place &at, std::uint32_t most, std::string_view what,
                        const std::function<loop_question(const seat &, std::uint32_t)> &question_of,
                        std::vector<std::string> &remarks, std::uint32_t known) const
    {
        std::vector<std::vector<bool>> by_port;
        std::uint32_t greatest = known;
        for (std::size_t port = 0; port < at.planes.size(); ++port) {
            const seat from{.port = port, .plane = at.planes[port], .place = at.place};
            std::vector<loop_question> questions;
            questions.reserve(most);
            for (std::uint32_t number = 0; number < most; ++number)
                questions.push_back(question_of(from, number));
            by_port.push_back(ask_again(questions));
            for (std::uint32_t number = 0; number < most; ++number)
                if (by_port.back()[number])
                    greatest = std::max(greatest, number + 1);
        }
        for (std::size_t port = 0; port < by_port.size(); ++port) {
            std::vector<std::uint32_t> silent;
            for (std::uint32_t number = 0; number < std::min(greatest, most); ++number)
                if (!by_port[port][number])
                    silent.push_back(number);
            if (silent.empty())
                continue;
            const std::size_t more = silent.size() - std::min(silent.size(), most_named);
            silent.resize(silent.size() - more);
            remarks.push_back(fmt::format("plane {}: no loop comes back by {} {}{}", at.planes[port].value, what,
                                          fmt::join(silent, ", "), more == 0 ? "" : fmt::format(" and {} more", more)));
        }
        return greatest;
    }

    // Returns how many there are.
    std::uint32_t look_at_spines(found_place &found) const
    {
        const std::uint32_t most = wish_.shape_is_known
                                       ? wish_.fabric.uplinks
                                       : std::min(service::max_uplinks, service::numbers_of(wish_.fabric.usids.spine));
        const std::uint32_t spines = count(
            found, most, "spine",
            [&](const seat &from, std::uint32_t spine) { return question(from, {usids_.spine(from.plane, spine)}); },
            found.remarks, wish_.shape_is_known ? most : 0);
        if (!wish_.shape_is_known)
            found.fabric.uplinks = std::max(spines, 1U); // of one leaf alone there need be none
        return spines;
    }

    // By the spine of their number, so that one dead spine hides only some.
    void look_at_leaves(found_place &found, bool has_spines) const
    {
        const std::uint32_t own = found.place.leaf;
        found.fabric.leaves = own + 1;
        if (!has_spines || usids_.block_bytes() + most_usids * sizeof(std::uint16_t) > sizeof(mrc_ip::bytes))
            return;
        const std::uint32_t spines = found.fabric.uplinks;
        const std::uint32_t most = std::min(service::max_leaves, service::numbers_of(wish_.fabric.usids.leaf));
        found.fabric.leaves = count(
            found, most, "leaf",
            [&](const seat &from, std::uint32_t leaf) {
                if (leaf == own) // it is there
                    return question(from, {});
                const std::uint16_t spine = usids_.spine(from.plane, leaf % spines);
                return question(from, {spine, usids_.leaf(from.plane, leaf), spine});
            },
            found.remarks, own + 1);
    }

    const place_wish &wish_;
    const loop_asker &ask_;
    const search_progress &progress_;
    service::srv6_fabric rules_;
    service::usid_plan usids_;
};

} // namespace

found_place find_place(const place_wish &wish, const loop_asker &ask, const search_progress &progress)
{
    return place_search{wish, ask, progress}.run();
}

} // namespace mrc::setup
