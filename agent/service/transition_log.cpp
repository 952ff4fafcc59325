// SPDX-License-Identifier: Apache-2.0
#include "service/transition_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "service/address.h"

namespace mrc::service
{

namespace
{

enum kind_index : std::size_t { of_ports, of_planes, of_peers };

std::string_view text(protocol::path_cause cause)
{
    switch (cause) {
    case protocol::path_cause::none:
        return "from the beginning";
    case protocol::path_cause::silence:
        return "nothing gets through, though other paths deliver";
    case protocol::path_cause::loss:
        return "packets are lost";
    case protocol::path_cause::always_skip:
        return "the peer asks not to use it";
    case protocol::path_cause::calm:
        return "no more complaints for a second";
    case protocol::path_cause::probes:
        return "probes are answered";
    case protocol::path_cause::deliveries:
        return "packets get through";
    case protocol::path_cause::controller:
        return "by a controller";
    }
    return "for an unknown reason";
}

std::string_view text(protocol::path_state state)
{
    switch (state) {
    case protocol::path_state::good:
        return "good";
    case protocol::path_state::kept:
        return "kept in use though bad, nothing better is left";
    case protocol::path_state::assumed_bad:
        return "assumed bad";
    case protocol::path_state::denied:
        return "denied";
    }
    return "in an unknown state";
}

} // namespace

std::string transition_log::name_of(const bundle &which) const
{
    const std::string profile = which.profile == 0 ? "" : fmt::format(", EV profile {}", which.profile);
    return fmt::format("plane {} to {}{}", which.plane, leaf_name_(which.leaf), profile);
}

void transition_log::write(kind &of, const std::string &line, protocol::instant now)
{
    write_held_back(of, now);
    if (of.rate.take(now))
        write_(log_level::info, line);
    else
        ++of.held_back;
}

void transition_log::write_held_back(kind &of, protocol::instant now)
{
    if (of.held_back == 0 || !of.rate.take(now))
        return;
    write_(log_level::info, fmt::format("{} more changes of {}, too many for the log; mrcctl shows how they are now",
                                        of.held_back, of.name));
    of.held_back = 0;
}

protocol::instant transition_log::next_deadline() const
{
    protocol::instant first = protocol::never;
    for (const kind &each : kinds_)
        if (each.held_back != 0)
            first = std::min(first, each.rate.next());
    return first;
}

void transition_log::on_deadline(protocol::instant now)
{
    for (kind &each : kinds_)
        write_held_back(each, now);
}

void transition_log::on_port(const port_options &port, bool usable, std::string_view reason, protocol::instant now)
{
    write(kinds_[of_ports],
          fmt::format("port {} (plane {}): {}", port.device, port.plane.value,
                      usable ? "usable" : fmt::format("out of use, {}", reason)),
          now);
}

void transition_log::on_path(const bundle &which, unsigned uplink, unsigned paths,
                             const protocol::path_condition &condition, protocol::instant now)
{
    write_(log_level::debug, fmt::format("path by uplink {} of {}: {}; {}", uplink, name_of(which),
                                         text(condition.state), text(condition.cause)));
    std::set<unsigned> &lost = lost_[which];
    const bool was_out = lost.size() == paths;
    if (protocol::is_in_use(condition.state))
        lost.erase(uplink);
    else
        lost.insert(uplink);
    const bool is_out = lost.size() == paths;
    if (was_out == is_out)
        return;
    // With the reason of the path that made the difference.
    write(kinds_[of_planes],
          fmt::format("{} ({} paths): {}, {}", name_of(which), paths, is_out ? "out of use" : "in use again",
                      text(condition.cause)),
          now);
}

void transition_log::on_peer(const mrc_ip &peer, const peer_condition &condition, protocol::instant now)
{
    const std::string name = to_text(peer);
    peer_condition &known =
        peers_.try_emplace(name, peer_condition{.ports = protocol::plane_mask{~0U}, .suspected = {}}).first->second;
    const auto say = [&](const std::string &what) {
        write(kinds_[of_peers], fmt::format("peer {}: {}", name, what), now);
    };
    for (unsigned number = 0; number < planes_; ++number) {
        const protocol::plane_index plane{static_cast<std::uint8_t>(number)};
        if (known.ports.has(plane) != condition.ports.has(plane))
            say(fmt::format("its port on plane {} is {}, it says", number,
                            condition.ports.has(plane) ? "usable" : "out of use"));
        if (known.suspected.has(plane) != condition.suspected.has(plane))
            say(fmt::format("plane {} is {}", number,
                            condition.suspected.has(plane) ? "out of use, packets reach it on other planes only"
                                                           : "in use again, packets reach it there"));
    }
    if (known.silent != condition.silent)
        say(condition.silent ? "silent, nothing comes back on any plane" : "heard again");
    known = condition;
}

void transition_log::forget_peer(const mrc_ip &peer)
{
    peers_.erase(to_text(peer));
}

} // namespace mrc::service
