// SPDX-License-Identifier: Apache-2.0
#include "live_pair.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "protocol/congestion/fixed_window.h"
#include "protocol/congestion/nscc.h"
#include "protocol/random_source.h"

namespace mrc::fuzz
{

using namespace std::chrono_literals;
using namespace protocol;

namespace
{

constexpr std::uint32_t payload_bytes = 256;
constexpr std::size_t longest_wire = 512;
constexpr unsigned usual_burst = 64;
constexpr std::uint32_t wrong_key = 0x78;
constexpr unsigned rounds_to_finish = 20'000;

path_group_config make_group(fuzz_input &input)
{
    path_group_config group;
    group.planes = 1 + input.below(4);
    group.uplinks = 1 + input.below(3);
    group.active_per_plane = input.below(3);
    group.base = path_index{1};
    return group;
}

qp_config make_qp(fuzz_input &input)
{
    qp_config config;
    config.local = qpn{0x100};
    config.peer = qpn{0x200};
    config.first_send = psn{input.flag() ? 0xFFFFF8u : input.number()};
    config.first_receive = psn{input.flag() ? 0xFFFFF8u : input.number()};
    config.payload_bytes = payload_bytes;
    config.window_psns = 64 + input.below(65);
    config.receive_window_psns = config.window_psns + 64;
    config.max_wimm = static_cast<std::uint16_t>(1 + input.below(4));
    config.receive_max_wimm = config.max_wimm;
    config.receive_queue_depth = config.max_wimm;
    config.send_queue_depth = 1 + input.below(12);
    const std::uint8_t flags = input.byte();
    config.dynamic_mpr = (flags & 1) != 0;
    config.service_time = (flags & 2) != 0;
    config.trim_nack = (flags & 4) == 0;
    config.answer_trimmed = (flags & 8) == 0;
    config.nack_out_of_window = (flags & 16) == 0;
    config.retry = {.timeout_exponent = 6, .linear = 3, .exponential = 25}; // never gives up
    return config;
}

qp_config mirrored(qp_config config)
{
    std::swap(config.local, config.peer);
    std::swap(config.first_send, config.first_receive);
    return config;
}

std::unique_ptr<congestion_control> make_control(bool nscc_control)
{
    if (!nscc_control)
        return std::make_unique<fixed_window>(16 * 1024);
    return std::make_unique<nscc>(derive_nscc({.base_rtt = 20us, .mtu = nominal_bytes(payload_bytes)}));
}

std::int64_t packets_of(std::uint32_t bytes)
{
    return std::max<std::int64_t>(1, (bytes + payload_bytes - 1) / payload_bytes);
}

} // namespace

void require(bool condition, const char *what)
{
    if (condition)
        return;
    std::fprintf(stderr, "core_fuzz: %s\n", what);
    std::abort();
}

std::expected<void, write_refusal> checked_memory::write(std::uint32_t rkey, std::uint64_t va,
                                                         std::span<const std::byte> payload)
{
    if (payload.empty())
        return {};
    if (rkey != key)
        return std::unexpected{write_refusal::unknown_key};
    if (va < base || va - base > size || size - (va - base) < payload.size())
        return std::unexpected{write_refusal::out_of_bounds};
    if (busy_)
        return std::unexpected{write_refusal::busy};
    std::ranges::copy(payload, bytes_.begin() + static_cast<std::ptrdiff_t>(va - base));
    return {};
}

side::side(const path_group_config &group, const qp_config &how, bool nscc_control)
    : ports{plane_mask{(1u << group.planes) - 1}}, paths{group, ports}, status{{}, paths},
      control{make_control(nscc_control)}, config{how}, planes{{}, paths},
      qp{how,
         {.paths = paths, .memory = memory, .control = *control, .peer_ports = &status.peer_ports(), .peer = &planes}}
{
}

live_pair::live_pair(fuzz_input &input) : source_(checked_memory::size)
{
    const path_group_config group = make_group(input);
    const qp_config left = make_qp(input);
    const bool nscc_control = input.flag();
    sides_[0] = std::make_unique<side>(group, left, nscc_control);
    sides_[1] = std::make_unique<side>(group, mirrored(left), nscc_control);
    random_source random{1};
    for (std::byte &byte : source_)
        byte = static_cast<std::byte>(random.next() | 1); // never what untouched memory holds
    for (const auto &each : sides_)
        look(*each);
}

void live_pair::step(fuzz_input &input)
{
    const std::uint8_t command = input.byte();
    side &here = *sides_[command >> 7];
    switch (command & 15u) {
    case 0:
    case 1:
        post(here, input);
        break;
    case 2:
    case 3:
        transmit(here, 1 + input.below(usual_burst));
        break;
    case 4:
    case 5:
        deliver(here, input.byte(), false, input);
        break;
    case 6: // everything, in order
        for (unsigned left = usual_burst; left > 0 && !here.wire.empty(); --left)
            deliver(here, 0, false, input);
        break;
    case 7:
        deliver(here, input.byte(), true, input);
        break;
    case 8:
        if (!here.wire.empty())
            here.wire.erase(here.wire.begin() + static_cast<std::ptrdiff_t>(input.byte() % here.wire.size()));
        break;
    case 9:
        here.wire.clear();
        break;
    case 10:
        damage(here, input);
        break;
    case 11:
        forge_to(here, input);
        break;
    case 12:
        now_ += duration{std::int64_t{1} << input.below(25)};
        break;
    case 13:
        run_timers(here);
        break;
    case 14:
        change_surroundings(here, input);
        break;
    default:
        modify(here, input);
    }
    for (const auto &each : sides_)
        look(*each);
}

void live_pair::post(side &from, fuzz_input &input)
{
    const std::uint8_t flags = input.byte();
    posted_write write;
    write.bytes = (flags & 7) == 0 ? 0 : input.word() % 2048u;
    if (from.used + write.bytes > checked_memory::size)
        write.bytes = 0;
    write.offset = from.used;
    write.signaled = (flags & 8) == 0;
    write.allowed = write.bytes == 0 || (flags & 0xF0u) != 0xF0u;
    if ((flags & 16) != 0)
        write.immediate = input.byte();
    write.end = (from.writes.empty() ? 0 : from.writes.back().end) + packets_of(write.bytes);
    write_request request;
    request.id = from.writes.size();
    request.source = {1, write.offset, write.bytes};
    request.remote_va = checked_memory::base + write.offset;
    request.rkey = write.allowed ? checked_memory::key : wrong_key;
    request.immediate = write.immediate;
    request.signaled = write.signaled;
    if (!from.qp.post_write(request, now_))
        return;
    from.status.watch(now_ + 10ms);
    from.used += write.bytes;
    from.writes.push_back(write);
}

void live_pair::transmit(side &from, unsigned most)
{
    const auto put = [&](const std::optional<outgoing> &packet) {
        if (!packet)
            return false;
        from.wire.push_back(*packet);
        if (auto *sack = std::get_if<sack_packet>(&from.wire.back().content); sack != nullptr && from.offered_mpr != 0)
            sack->mpr = std::min(sack->mpr, from.offered_mpr);
        return true;
    };
    for (unsigned n = 0; n < most && from.wire.size() < longest_wire; ++n) {
        if (put(from.status.next_packet(now_)) || put(from.planes.next_packet(now_)) ||
            put(from.paths.next_packet(now_)))
            continue;
        const auto packet = from.qp.next_packet(now_);
        if (!put(packet))
            break;
        require(packet->path.value >= 1 && packet->path.value <= from.paths.size(), "a path that does not exist");
        const plane_index plane = from.paths.path(packet->path.value - 1).plane;
        require(from.ports.usable().has(plane), "sent by a port that cannot be used");
        if (const auto *data = std::get_if<data_packet>(&packet->content))
            from.sent = std::max<std::int64_t>(
                from.sent, 1 + psn_space{from.config.first_send}.number_of(data->sequence, from.sent));
    }
}

arrival live_pair::arrival_of(const outgoing &packet) const
{
    arrival how;
    how.entropy = packet.entropy;
    how.path = packet.path;
    how.at = now_;
    how.wire_bytes = nominal_bytes(packet.payload.bytes);
    return how;
}

void live_pair::deliver(side &from, std::size_t index, bool keep, fuzz_input &input)
{
    if (from.wire.empty())
        return;
    index %= from.wire.size();
    const outgoing packet = from.wire[index];
    if (!keep)
        from.wire.erase(from.wire.begin() + static_cast<std::ptrdiff_t>(index));
    arrival how = arrival_of(packet);
    const std::uint8_t fate = index == 0 && !keep ? std::uint8_t{0} : input.byte();
    how.congestion_experienced = packet.ecn == MRC_ECN_ECT0 && (fate & 7u) == 1;
    how.trimmed = (packet.dscp == MRC_DSCP_TRIMMABLE || packet.dscp == MRC_DSCP_TRIMMABLE_RETX) && (fate & 7u) == 2;
    how.trimmed_last_hop = how.trimmed && (fate & 8u) != 0;
    std::span<const std::byte> payload;
    if (!how.trimmed && packet.payload.bytes != 0)
        payload = std::span{source_}.subspan(packet.payload.address, packet.payload.bytes);
    hand_over(peer_of(from), packet.content, payload, how);
}

void live_pair::hand_over(side &to, const packet &content, std::span<const std::byte> payload, const arrival &how)
{
    if (const auto *request = std::get_if<endpoint_request_packet>(&content)) {
        if (request->operation == MRC_EP_PORT_STATUS_UPDATE)
            to.status.on_request(*request, how, now_);
        else if (to.wire.size() < longest_wire && to.paths.slot_at(how.path))
            to.wire.push_back({endpoint_response_packet{request->request_id, request->operation, request->tx_timestamp},
                               {},
                               how.entropy,
                               how.path,
                               MRC_DSCP_CONTROL,
                               MRC_ECN_NOT_ECT});
    } else if (const auto *response = std::get_if<endpoint_response_packet>(&content)) {
        if (port_status_ids.contains(response->request_id))
            to.status.on_response(*response);
        else
            (void)(to.paths.on_packet(*response, how) || to.planes.on_packet(*response, how));
    } else {
        to.qp.on_packet(content, payload, how, now_);
    }
}

void live_pair::forge_to(side &to, fuzz_input &input)
{
    forged_ = true;
    const side &peer = peer_of(to);
    const std::uint32_t slot = input.below(to.paths.size());
    const qp_knowledge known{.to = to.config.local,
                             .sent = to.config.first_send + static_cast<std::int32_t>(to.sent - 1),
                             .expected = to.config.first_receive + static_cast<std::int32_t>(peer.sent),
                             .entropy = to.paths.path(slot).entropy,
                             .timestamp = wire_timestamp(now_),
                             .memory = checked_memory::base,
                             .rkey = checked_memory::key};
    const packet content = forge(input, known);
    arrival how;
    how.entropy = known.entropy;
    how.path = path_index{input.below(16)};
    how.at = now_ - duration{input.byte()};
    how.trimmed = input.below(8) == 0;
    std::vector<std::byte> payload;
    if (const auto *data = std::get_if<data_packet>(&content); data != nullptr && !how.trimmed)
        payload.resize(data->payload_bytes);
    hand_over(to, content, payload, how);
}

void live_pair::inject(const packet &content, std::span<const std::byte> payload, ev entropy, bool trimmed)
{
    forged_ = true;
    for (const auto &each : sides_) {
        arrival how;
        how.entropy = entropy;
        how.path = path_index{1};
        how.at = now_;
        how.trimmed = trimmed;
        hand_over(*each, content, payload, how);
        look(*each);
        transmit(*each, usual_burst);
        now_ += 1ms;
        run_timers(*each);
        look(*each);
    }
}

void live_pair::damage(side &from, fuzz_input &input)
{
    if (from.wire.empty())
        return;
    forged_ = true;
    corrupt(from.wire[input.byte() % from.wire.size()].content, input);
}

void live_pair::change_surroundings(side &at, fuzz_input &input)
{
    const std::uint8_t what = input.byte();
    const plane_index plane{static_cast<std::uint8_t>(what >> 4 & 3u)};
    const bool on = (what & 8u) != 0;
    const unsigned slot = input.below(at.paths.size());
    switch (what & 7u) {
    case 0:
        at.ports.up.set(plane, on);
        break;
    case 1:
        at.ports.enabled.set(plane, on);
        break;
    case 2:
        at.memory.busy(on);
        break;
    case 3:
        at.offered_mpr = static_cast<std::uint8_t>(input.word());
        break;
    case 4:
        at.qp.set_receive_penalty(input.byte());
        break;
    case 5:
        at.paths.deny(slot);
        break;
    case 6:
        at.paths.allow(slot);
        break;
    default:
        at.paths.watch(now_ + 1ms);
    }
}

void live_pair::modify(side &at, fuzz_input &input)
{
    switch (input.below(16)) {
    case 0:
        (void)at.qp.modify(qp_event::fail);
        break;
    case 1:
        (void)at.qp.modify(qp_event::to_init);
        break;
    case 2:
        (void)at.qp.modify(qp_event::to_ready_to_receive);
        break;
    case 3:
    case 4:
    case 5:
        (void)at.qp.modify(qp_event::drain);
        break;
    default:
        (void)at.qp.modify(qp_event::to_ready_to_send);
    }
}

void live_pair::run_timers(side &at)
{
    // One may lead to the next, as the end of a silence to a probe that had been due; then all are quiet.
    for (unsigned left = 4; at.qp.next_deadline() <= now_; --left) {
        require(left != 0, "timers run, and are due again at once");
        at.qp.on_timer(now_);
    }
}

void live_pair::look(side &at)
{
    require(at.qp.outstanding() <= at.config.send_queue_depth, "more requests than the queue holds");
    require(at.qp.inflight_packets() <= at.config.window_psns, "more in flight than the window");
    require(at.control->inflight() >= 0, "negative flight");
    require(at.qp.charged_bytes() == static_cast<std::uint64_t>(at.control->inflight()), "QP and controller disagree");
    if (at.qp.state() == qp_state::error)
        require(at.qp.inflight_packets() == 0 && at.qp.next_deadline() == never, "a failed QP still waits");
    if (const auto *window = dynamic_cast<const nscc *>(at.control.get())) {
        require(window->exact_cwnd() >= window->config().mtu, "window below a packet");
        require(window->exact_cwnd() <= nscc{window->config()}.max_window(), "window above its maximum");
    }
    look_at_completions(at);
    look_at_receives(at);
    while (at.qp.post_receive(at.receives_posted))
        ++at.receives_posted;
}

void live_pair::look_at_completions(side &at)
{
    while (const auto done = at.qp.next_completion()) {
        require(done->id >= at.completed && done->id < at.writes.size(), "completions are in order, and once");
        for (; at.completed < done->id; ++at.completed)
            require(!at.writes[at.completed].signaled, "a completion is missing");
        const posted_write &write = at.writes[at.completed++];
        if (done->status != completion_status::success)
            continue;
        require(write.end <= at.sent, "a write that was not sent has succeeded");
        require(done->bytes == write.bytes, "bytes of a completion");
        if (forged_)
            continue;
        require(write.allowed, "a forbidden write has succeeded");
        const auto there = peer_of(at).memory.bytes().subspan(write.offset, write.bytes);
        require(std::ranges::equal(there, std::span{source_}.subspan(write.offset, write.bytes)),
                "a write has succeeded, but is not in memory");
    }
}

void live_pair::look_at_receives(side &at)
{
    const side &peer = peer_of(at);
    while (const auto done = at.qp.next_receive_completion()) {
        require(done->id == at.receives_taken++, "receive requests complete in order");
        require(done->id < at.receives_posted, "a receive request that was not posted");
        if (done->status != completion_status::success || forged_)
            continue;
        while (at.next_immediate < peer.writes.size() && !peer.writes[at.next_immediate].immediate)
            ++at.next_immediate;
        require(at.next_immediate < peer.writes.size(), "one immediate too many");
        const posted_write &write = peer.writes[at.next_immediate++];
        require(done->immediate == *write.immediate && done->bytes == write.bytes, "another immediate than was sent");
    }
}

bool live_pair::all_done() const
{
    return std::ranges::all_of(sides_, [](const auto &each) { return each->qp.outstanding() == 0; });
}

void live_pair::finish()
{
    if (forged_)
        return;
    for (const auto &each : sides_) {
        each->ports.up = plane_mask{(1u << each->paths.planes()) - 1};
        each->ports.enabled = each->ports.up;
        each->memory.busy(false);
        each->qp.set_receive_penalty(0);
        for (unsigned slot = 0; slot < each->paths.size(); ++slot)
            each->paths.allow(slot);
        (void)each->qp.modify(qp_event::to_ready_to_send);
    }
    fuzz_input nothing{{}};
    for (unsigned round = 0; round < rounds_to_finish && !all_done(); ++round) {
        bool busy = false;
        for (const auto &each : sides_) {
            run_timers(*each);
            transmit(*each, usual_burst);
            busy = busy || !each->wire.empty();
        }
        now_ += 10us;
        for (const auto &each : sides_)
            while (!each->wire.empty())
                deliver(*each, 0, false, nothing);
        for (const auto &each : sides_)
            look(*each);
        const instant due = std::min(sides_[0]->qp.next_deadline(), sides_[1]->qp.next_deadline());
        if (!busy && due != never)
            now_ = std::max(now_, due);
    }
    require(all_done(), "stuck: every wire works again, and a write has not completed");
}

} // namespace mrc::fuzz
