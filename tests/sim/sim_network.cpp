// SPDX-License-Identifier: Apache-2.0
#include "sim_network.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mrc::sim
{

using namespace protocol;

std::expected<void, write_refusal> host_memory::write(std::uint32_t rkey, std::uint64_t va,
                                                      std::span<const std::byte> payload)
{
    if (payload.empty())
        return {};
    if (rkey != key)
        return std::unexpected{write_refusal::unknown_key};
    if (va < base || va - base > bytes_.size() || bytes_.size() - (va - base) < payload.size())
        return std::unexpected{write_refusal::out_of_bounds};
    std::ranges::copy(payload, bytes_.begin() + static_cast<std::ptrdiff_t>(va - base));
    ++writes_;
    return {};
}

namespace
{

path_group_config group_config(const network_config &network, std::uint64_t seed)
{
    path_group_config config;
    config.planes = network.planes;
    config.uplinks = network.uplinks;
    config.active_per_plane = network.active_per_plane;
    config.base = path_index{1};
    config.seed = seed;
    return config;
}

qp_config mirrored(qp_config config)
{
    std::swap(config.local, config.peer);
    std::swap(config.first_send, config.first_receive);
    config.seed ^= 0x5555;
    return config;
}

} // namespace

host::host(const network_config &network, const qp_config &config, std::size_t memory_bytes, std::uint64_t seed)
    : ports{(1u << network.planes) - 1}, paths{group_config(network, seed), ports}, control{network.window_bytes},
      memory{memory_bytes}, source(memory_bytes), qp{config, paths, memory, control},
      out(std::size_t{network.planes} * network.uplinks), last_out(out.size()), port_free(network.planes),
      frames(network.planes)
{
    random_source random{seed};
    for (std::byte &byte : source)
        byte = static_cast<std::byte>(random.next());
}

network::network(const network_config &config, const qp_config &left, std::size_t memory_bytes)
    : config_{config}, random_{config.seed}
{
    hosts_[0] = std::make_unique<host>(config, left, memory_bytes, config.seed * 2 + 1);
    hosts_[1] = std::make_unique<host>(config, mirrored(left), memory_bytes, config.seed * 2 + 2);
}

void network::each_path(const std::function<void(path_model &)> &change)
{
    for (auto &each : hosts_)
        std::ranges::for_each(each->out, change);
}

void network::each_path_at(unsigned slot, const std::function<void(path_model &)> &change)
{
    for (auto &each : hosts_)
        change(each->out[slot]);
}

void network::each_path_of(unsigned plane, const std::function<void(path_model &)> &change)
{
    for (unsigned uplink = 0; uplink < config_.uplinks; ++uplink)
        each_path_at(plane * config_.uplinks + uplink, change);
}

bool network::post(host &from, std::uint64_t id, std::size_t source_offset, std::size_t target_offset,
                   std::uint32_t bytes, bool signaled)
{
    write_request request;
    request.id = id;
    request.source = {1, source_offset, bytes};
    request.remote_va = host_memory::base + target_offset;
    request.rkey = host_memory::key;
    request.signaled = signaled;
    if (!from.qp.post_write(request, now_))
        return false;
    wake(&from == hosts_[0].get() ? 0 : 1, now_);
    return true;
}

bool network::chance(double probability)
{
    return probability > 0 && static_cast<double>(random_.next() >> 11) * 0x1p-53 < probability;
}

duration network::up_to(duration longest)
{
    return longest.count() <= 0
               ? duration{0}
               : duration{static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(longest.count() + 1))};
}

void network::wake(unsigned index, instant at)
{
    host &each = *hosts_[index];
    if (at >= each.wakes_at)
        return;
    each.wakes_at = at;
    events_.push({at, order_++, index, true, 0});
}

std::size_t network::store(host::frame &&frame)
{
    if (free_frames_.empty()) {
        frames_.push_back(std::move(frame));
        return frames_.size() - 1;
    }
    const std::size_t index = free_frames_.back();
    free_frames_.pop_back();
    frames_[index] = std::move(frame);
    return index;
}

bool network::run(const std::function<bool()> &done, instant deadline)
{
    while (!done()) {
        if (events_.empty() || events_.top().at > deadline) {
            now_ = deadline;
            return done();
        }
        const event next = events_.top();
        events_.pop();
        now_ = next.at;
        if (!next.wake) {
            host::frame frame = std::move(frames_[next.frame]);
            free_frames_.push_back(next.frame);
            arrive(next.host, std::move(frame));
        } else {
            if (next.at != hosts_[next.host]->wakes_at)
                continue; // superseded
            hosts_[next.host]->wakes_at = never;
            serve(next.host);
        }
    }
    return true;
}

void network::arrive(unsigned at, host::frame &&frame)
{
    host &here = *hosts_[at];
    if (here.dead)
        return;
    // Probes are answered before the scheduler is asked, as the XDP program does.
    if (const auto *request = std::get_if<endpoint_request_packet>(&frame.content)) {
        reflect(at, *request, frame.how);
        return;
    }
    here.unread.push_back(std::move(frame));
    wake(at, now_);
}

void network::reflect(unsigned at, const endpoint_request_packet &request, const arrival &how)
{
    endpoint_response_packet response;
    response.request_id = request.request_id;
    response.operation = request.operation;
    response.tx_timestamp = request.tx_timestamp;
    fly(at, {response, {}, how.entropy, how.path, MRC_DSCP_CONTROL, MRC_ECN_NOT_ECT}, now_);
}

// One turn of a worker: receive, timers, send, completions.
void network::serve(unsigned index)
{
    host &here = *hosts_[index];
    if (here.dead)
        return;
    for (const interval &off : here.off_cpu) {
        if (off.holds(now_)) {
            wake(index, off.to);
            return;
        }
    }
    for (const host::frame &frame : here.unread) {
        if (const auto *response = std::get_if<endpoint_response_packet>(&frame.content))
            here.paths.on_packet(*response, frame.how);
        else
            here.qp.on_packet(frame.content, frame.payload, frame.how, now_);
    }
    here.unread.clear();
    if (now_ >= here.qp.next_deadline())
        here.qp.on_timer(now_);
    while (const auto probe = here.paths.next_packet(now_))
        send(index, *probe);
    while (const auto packet = here.qp.next_packet(now_))
        send(index, *packet);
    while (const auto done = here.qp.next_completion())
        here.completions.push_back(*done);
    const instant next = std::min(here.qp.next_deadline(), here.paths.next_deadline());
    if (next != never)
        wake(index, std::max(next, now_ + duration{1000}));
}

void network::send(unsigned from, const outgoing &packet)
{
    host &here = *hosts_[from];
    const unsigned plane = (packet.path.value - 1) / config_.uplinks;
    here.frames[plane] += std::holds_alternative<data_packet>(packet.content) ? 1 : 0;
    instant &free = here.port_free[plane];
    free = std::max(free, now_) + config_.serialisation;
    fly(from, packet, free);
}

void network::fly(unsigned from, const outgoing &packet, instant departs)
{
    host &here = *hosts_[from];
    const unsigned slot = packet.path.value - 1;
    const path_model &path = here.out[slot];
    if (std::ranges::any_of(path.dark, [departs](const interval &dark) { return dark.holds(departs); })) {
        ++faults_.swallowed;
        return;
    }
    if (chance(path.loss)) {
        ++faults_.lost;
        return;
    }

    host::frame frame{packet.content, {}, {}};
    const auto *data = std::get_if<data_packet>(&packet.content);
    frame.how.trimmed = data != nullptr && packet.dscp != MRC_DSCP_NO_TRIM && chance(path.trimmed);
    if (data != nullptr && !frame.how.trimmed) {
        const auto begin = here.source.begin() + static_cast<std::ptrdiff_t>(packet.payload.address);
        frame.payload.assign(begin, begin + packet.payload.bytes);
        frame.how.wire_bytes = nominal_bytes(data->payload_bytes);
    }
    frame.how.entropy = packet.entropy;
    frame.how.path = packet.path;
    frame.how.congestion_experienced = packet.ecn == MRC_ECN_ECT0 && chance(path.congested);

    faults_.trimmed += frame.how.trimmed ? 1 : 0;
    faults_.congested += frame.how.congestion_experienced ? 1 : 0;

    const unsigned copies = chance(path.duplicate) ? 2 : 1;
    faults_.duplicated += copies - 1;
    for (unsigned copy = 0; copy < copies; ++copy) {
        instant at = departs + path.delay + up_to(path.jitter);
        if (chance(path.overtake)) {
            at += up_to(5 * path.delay);
            ++faults_.overtaken;
        } else {
            at = std::max(at, here.last_out[slot]);
            here.last_out[slot] = at;
        }
        frame.how.at = at;
        events_.push({at, order_++, 1 - from, false, store(host::frame{frame})});
    }
}

} // namespace mrc::sim
