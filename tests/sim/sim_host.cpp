// SPDX-License-Identifier: Apache-2.0
#include "sim_host.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "protocol/request_ids.h"

namespace mrc::sim
{

using namespace protocol;

std::expected<void, write_refusal> host_memory::write(std::uint32_t rkey, std::uint64_t va,
                                                      std::span<const std::byte> payload)
{
    if (payload.empty())
        return {};
    const auto allowed = check(rkey, va, payload.size());
    if (allowed)
        copy(va, payload);
    return allowed;
}

std::expected<placement, write_refusal> host_memory::place(packet_number number, std::uint32_t rkey, std::uint64_t va,
                                                           std::span<const std::byte> payload)
{
    if (!holds_some_ || payload.empty() || random_.below(2) == 0)
        return memory_sink::place(number, rkey, va, payload);
    if (const auto allowed = check(rkey, va, payload.size()); !allowed)
        return std::unexpected{allowed.error()};
    held_.push_back({va, {payload.begin(), payload.end()}});
    return placement::held;
}

void host_memory::write_held()
{
    for (const held_write &each : held_)
        copy(each.va, each.payload);
    held_.clear();
}

void host_memory::copy(std::uint64_t va, std::span<const std::byte> payload)
{
    std::ranges::copy(payload, bytes_.begin() + static_cast<std::ptrdiff_t>(va - base));
}

std::expected<void, write_refusal> host_memory::check(std::uint32_t rkey, std::uint64_t va, std::size_t bytes)
{
    if (rkey != key)
        return std::unexpected{write_refusal::unknown_key};
    if (va < base || va - base > bytes_.size() || bytes_.size() - (va - base) < bytes)
        return std::unexpected{write_refusal::out_of_bounds};
    if (busy_one_in_ != 0 && random_.below(busy_one_in_) == 0) {
        ++refused_busy_;
        return std::unexpected{write_refusal::busy};
    }
    return {};
}

std::vector<profile_entry> make_profile(const network_config &network, std::uint64_t seed)
{
    ev_profile_spec automatic;
    automatic.count = network.planes * network.evs_per_plane;
    return expand_profile(automatic, network.planes, network.uplinks, 32, seed).value();
}

namespace
{

constexpr duration peer_memory = std::chrono::seconds{3}; // as in agent/datapath/endpoint_desk.cpp

std::deque<known_host> make_others(const std::vector<unsigned> &known, std::uint64_t seed, const path_group &paths)
{
    std::deque<known_host> others;
    for (const unsigned index : known)
        others.emplace_back(index, static_cast<std::uint16_t>(seed), paths);
    return others;
}

path_group_config group_config(const network_config &network, std::uint64_t seed)
{
    path_group_config config;
    config.planes = network.planes;
    config.uplinks = network.uplinks;
    config.universe = make_profile(network, seed);
    config.active_per_plane = network.active_per_plane;
    config.base = path_index{1};
    config.seed = seed;
    return config;
}

} // namespace

host::host(const network_config &network, const std::vector<unsigned> &known, std::size_t memory_bytes,
           std::uint64_t seed)
    : ports{plane_mask{(1u << network.planes) - 1}}, paths{group_config(network, seed), ports},
      others{make_others(known, seed, paths)}, asked{paths, peer_of(others.front())}, memory{memory_bytes, seed},
      source(memory_bytes), out(std::size_t{network.planes} * network.uplinks), links(network.planes),
      frames(network.planes), time{network.worker, seed}, unread(network.planes),
      in_rounds_{network.worker.in_rounds()}, timer_gate_{timer_gate_of(network.worker)}
{
    random_source random{seed};
    for (std::size_t offset = 0; offset < source.size(); offset += sizeof(std::uint64_t)) {
        const std::uint64_t word = random.next();
        std::memcpy(source.data() + offset, &word, std::min(sizeof(word), source.size() - offset));
    }
}

known_host::known_host(unsigned which, std::uint16_t first_update, const path_group &paths)
    : index{which}, status{{.first = first_update}, paths}, planes{{}, paths}
{
}

datapath::worker_peer host::peer_of(known_host &other)
{
    return {.host_usid = static_cast<std::uint16_t>(other.index),
            .paths = &paths,
            .ports = &other.status,
            .planes = &other.planes};
}

known_host &host::other(unsigned index)
{
    return *std::ranges::find(others, index, &known_host::index);
}

instant host::next_deadline() const
{
    instant next = never;
    for (const auto &end : ends)
        next = std::min(next, end->qp.next_deadline());
    return next;
}

instant host::next_question() const
{
    instant next = paths.next_deadline();
    for (const known_host &other : others)
        next = std::min({next, other.status.next_deadline(), other.planes.next_deadline()});
    return next;
}

datapath::receive_result host::receive(instant now)
{
    (void)pool.replenish();
    const auto read = [this, now](const arrived_frame &frame) { take(frame, now); };
    datapath::receive_result all;
    if (in_rounds_)
        all = datapath::receive_fairly(std::views::transform(unread, [](auto &ring) { return &ring; }), read);
    else
        for (auto &ring : unread)
            all.frames += ring.receive(ring.size(), read);
    memory.write_held();
    for (const auto &end : ends)
        end->qp.settle();
    return all;
}

bool host::has_unread() const
{
    return std::ranges::any_of(unread, [](const auto &ring) { return !ring.empty(); });
}

void host::take(const arrived_frame &frame, instant now)
{
    if (std::holds_alternative<endpoint_response_packet>(frame.content) ||
        std::holds_alternative<endpoint_request_packet>(frame.content)) {
        receive_endpoint(frame, now);
        return;
    }
    const qpn to = std::visit(
        [](const auto &content) {
            if constexpr (requires { content.destination; })
                return content.destination;
            else
                return qpn{};
        },
        frame.content);
    const auto end =
        std::ranges::find_if(ends, [to](const auto &each) { return each->config.local == to && !each->gone; });
    if (end == ends.end())
        return;
    const duration mark = (*end)->config.backlog_mark;
    backlogged += mark != duration{0} && now - frame.how.at > mark ? 1 : 0;
    (*end)->qp.on_packet(frame.content, frame.payload, frame.how, now);
}

void host::receive_endpoint(const arrived_frame &frame, instant now)
{
    known_host &from = other(frame.source);
    if (const auto *request = std::get_if<endpoint_request_packet>(&frame.content)) {
        from.status.on_request(*request, frame.how, now);
        return;
    }
    const auto &response = std::get<endpoint_response_packet>(frame.content);
    if (port_status_ids.contains(response.request_id))
        from.status.on_response(response);
    else if (plane_probe_ids.contains(response.request_id))
        from.planes.on_packet(response, frame.how);
    else if (paths.on_packet(response, frame.how))
        asked.on_answer(peer_of(from), response.request_id, frame.how.at);
}

void host::watch(instant now, bool port_status)
{
    paths.watch_idle(now + peer_memory);
    for (known_host &other : others) {
        asked.on_use(peer_of(other), now);
        other.planes.watch(now + peer_memory);
        if (port_status)
            other.status.watch(now + peer_memory);
    }
}

unsigned host::ask(const outgoing &probe, instant now)
{
    const auto slot = static_cast<std::uint16_t>(probe.path.value - paths.path(0).index.value);
    return asked.ask(slot, std::get<endpoint_request_packet>(probe.content).request_id, now).host_usid;
}

void host::report()
{
    for (const auto &end : ends) {
        while (const auto done = end->qp.next_completion())
            end->completions.push_back(*done);
        while (const auto done = end->qp.next_receive_completion())
            end->receives.push_back(*done);
        while (end->posts_receives && end->qp.post_receive(end->receives_posted))
            ++end->receives_posted;
        if (end->qp.outstanding() == 0 && end->qp.next_deadline() == never)
            end->qp.rest(); // at once: what comes later finds nothing
    }
}

} // namespace mrc::sim
