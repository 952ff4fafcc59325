// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/ep_batches.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fmt/format.h>

#include "service/address.h"

namespace mrc::service
{

namespace
{

using session::ev_format_mode;

constexpr std::uint32_t path_bits = MRC_EV_PLANE_MASK | MRC_EV_UPLINK_MASK << MRC_EV_UPLINK_SHIFT;

// Bytes of an EV as it stands in a packet (api: no profile shortens the EVs of requests).
std::size_t bytes_of(ev_format_mode mode)
{
    switch (mode) {
    case ev_format_mode::stev:
        return 4;
    case ev_format_mode::udp:
        return 2;
    case ev_format_mode::srv6:
        return sizeof(mrc_carrier);
    }
    return 0;
}

} // namespace

ep_batches::ep_batches(const fabric_rules &rules, peer_finder find, const worker_crew &workers)
    : rules_{rules}, find_{std::move(find)}, worker_{workers.first()}
{
}

ep_batches::~ep_batches()
{
    worker_.call([&] {
        for (running &one : running_)
            worker_.take_back(one.batch);
    });
}

// The number in the packet's flow label and source port; of a carrier, that of the path it leads on.
std::expected<std::uint32_t, std::string> ep_batches::number_of(const session::ep_request &request,
                                                                host_place host) const
{
    const auto mode = static_cast<ev_format_mode>(request.format_mode);
    const auto &bits = request.ev.bits;
    const std::size_t bytes = bytes_of(mode);
    if (std::any_of(bits.begin() + static_cast<std::ptrdiff_t>(bytes), bits.end(), [](auto byte) { return byte != 0; }))
        return std::unexpected{fmt::format("the EV is longer than {} bits", bytes * 8)};
    std::uint32_t number = 0;
    if (mode != ev_format_mode::srv6) {
        for (std::size_t i = 0; i < bytes; ++i)
            number = number << 8 | bits[i];
        return number;
    }
    mrc_carrier carrier{};
    std::copy_n(bits.begin(), sizeof(carrier.bytes), std::begin(carrier.bytes));
    const protocol::plane_index plane{static_cast<std::uint8_t>(request.ev.port - 1)};
    const bool is_neighbour = host.leaf == rules_.self().leaf; // no spine stands in its carriers
    const std::uint32_t uplink = is_neighbour ? 0 : rules_.uplink_in(carrier, plane);
    const mrc_path_row path = rules_.path_of({.leaf = host.leaf}, plane, uplink);
    const mrc_ip right = mrc_path_destination(&path, rules_.host_usid(host));
    if (!std::equal(std::begin(right.bytes), std::end(right.bytes), bits.begin()))
        return std::unexpected{fmt::format("the EV is no carrier to that host on port {}", request.ev.port)};
    return mrc_ev_make(plane.value, uplink, 0);
}

std::expected<protocol::path_choice, std::string>
ep_batches::path_of(const session::ep_request &request, host_place host, const datapath::worker_peer &peer) const
{
    const protocol::path_group &paths = *peer.paths;
    const auto number = number_of(request, host);
    if (!number)
        return std::unexpected{number.error()};
    const std::uint32_t plane = mrc_ev_plane(*number);
    const std::uint32_t uplink = mrc_ev_uplink(*number);
    if (plane + 1 != request.ev.port)
        return std::unexpected{
            fmt::format("EV {:#x} is of port {}, the request says {}", *number, plane + 1, request.ev.port)};
    protocol::path_choice choice = paths.path(plane * paths.uplinks() + uplink % paths.uplinks());
    if (uplink != mrc_ev_uplink(choice.entropy.value))
        return std::unexpected{fmt::format("EV {:#x} names uplink {}, which is none of the {} toward that host",
                                           *number, uplink, paths.uplinks())};
    if (is_ipv4(request.destination) && *number > UINT16_MAX)
        return std::unexpected{fmt::format("EV {:#x} has more than the 16 bits that IPv4 carries", *number)};
    // As in the arrays of EV profile 0: without entropy, it is this host that chooses it. EV 0 is never sent.
    if ((*number & ~path_bits) != 0)
        choice.entropy = protocol::ev{*number};
    else if (choice.entropy.value == 0)
        choice.entropy = protocol::ev{mrc_ev_make(plane, uplink, 1)};
    return choice;
}

std::expected<ep_batches::resolved, std::string> ep_batches::resolve(const session::ep_request &request,
                                                                     session::ep_operation operation)
{
    const bool ipv4 = is_ipv4(request.destination);
    const bool any_source = std::ranges::all_of(request.source.bytes, [](std::uint8_t byte) { return byte == 0; });
    if (!any_source && (rules_.host_of(request.source) != rules_.self() || is_ipv4(request.source) != ipv4))
        return std::unexpected{"source " + to_text(request.source) + " is no address of this host" +
                               (ipv4 ? " in IPv4" : " in IPv6")};
    auto found_peer = find_(request.destination);
    if (!found_peer)
        return std::unexpected{found_peer.error().text};
    const datapath::worker_peer &peer = found_peer->peer;
    if (peer.own_host)
        return std::unexpected{to_text(request.destination) + " is this host itself: no path leads there"};
    const host_place host = rules_.host_of(request.destination).value_or(host_place{});
    const auto path = path_of(request, host, peer);
    if (!path)
        return std::unexpected{path.error()};
    const protocol::plane_mask ports{request.port_status >> 1};
    const std::uint32_t all = ((1U << rules_.planes()) - 1) << 1;
    if (operation == session::ep_operation::port_status_update && (ports.empty() || (request.port_status & ~all) != 0))
        return std::unexpected{
            fmt::format("port status {:#x}, allowed are bits of {:#x}, at least one", request.port_status, all)};
    resolved found{.request = {.host = peer.ports, .path = *path, .ports = ports},
                   .to = {.address = peer.address, .host_usid = peer.host_usid},
                   .hold = std::move(found_peer->hold)};
    if (ipv4)
        found.to.address = request.destination;
    return found;
}

session::outcome<> ep_batches::start(const control::ep_batch &asked)
{
    if (std::ranges::find(running_, asked.session, &running::session) != running_.end())
        return std::unexpected{session::refusal{EAGAIN, "the session has a batch under way"}};
    running &made = running_.emplace_back();
    made.session = asked.session;
    made.batch.operation =
        asked.operation == session::ep_operation::ev_probe ? MRC_EP_EV_PROBE : MRC_EP_PORT_STATUS_UPDATE;
    made.batch.dscp = asked.traffic_class;
    made.batch.patience = std::chrono::nanoseconds{asked.timeout_ns};
    for (const session::ep_request &request : asked.requests) {
        auto found = resolve(request, asked.operation);
        if (!found) {
            if (made.invalid.empty())
                made.invalid = fmt::format("request {}: {}", request.id, found.error());
            continue;
        }
        made.ids.push_back(request.id);
        made.batch.requests.push_back(found->request);
        made.batch.destinations.push_back(found->to);
        made.holds.push_back(std::move(found->hold));
    }
    session::outcome<> outcome;
    bool started = false;
    if (made.ids.empty())
        outcome = std::unexpected{session::refusal{EINVAL, made.invalid}};
    else
        worker_.call([&] { started = worker_.start_batch(made.batch); });
    if (!made.ids.empty() && !started)
        outcome = std::unexpected{session::refusal{EAGAIN, "too many requests to other hosts are under way"}};
    if (!started)
        running_.pop_back();
    return outcome;
}

void ep_batches::end_session(std::uint64_t session)
{
    const auto at = std::ranges::find(running_, session, &running::session);
    if (at == running_.end())
        return;
    worker_.call([&] { worker_.take_back(at->batch); });
    running_.erase(at);
}

std::vector<std::byte> ep_batches::reply_of(const running &over)
{
    std::vector<session::ep_response> responses;
    for (const std::uint16_t index : over.batch.answered) {
        const protocol::endpoint_request &request = over.batch.requests[index];
        session::ep_response response;
        response.id = over.ids[index];
        response.port = static_cast<std::uint8_t>(request.arrived_on.value + 1);
        response.rtt_ns = static_cast<std::uint32_t>(
            std::min<std::int64_t>(request.rtt.count(), std::numeric_limits<std::uint32_t>::max()));
        response.service_time = request.service_time ? 1 : 0;
        responses.push_back(response);
    }
    session::outcome<> outcome;
    if (!over.invalid.empty())
        outcome = std::unexpected{session::refusal{EINVAL, over.invalid}};
    else if (responses.size() < over.ids.size())
        outcome = std::unexpected{session::refusal{
            ETIMEDOUT, fmt::format("{} of {} requests were answered in time", responses.size(), over.ids.size())}};
    return control::controller::ep_reply(outcome, responses);
}

std::optional<ep_batches::finished> ep_batches::take_finished()
{
    const auto over = std::ranges::find_if(running_, [](const running &one) { return one.batch.done.load(); });
    if (over == running_.end())
        return std::nullopt;
    finished result{.session = over->session, .reply = reply_of(*over)};
    running_.erase(over);
    return result;
}

} // namespace mrc::service
