// SPDX-License-Identifier: Apache-2.0
// What the worker sends, and whose turn it is: deficit round robin by bytes between clients, and between the queue
// pairs of each (Shreedhar and Varghese, 1995). An allowance that a round cannot use up stays for the next one; who has
// nothing to send keeps none.
#include <algorithm>
#include <cstring>

#include "datapath/worker.h"
#include "kernel/monotonic_clock.h"

namespace mrc::datapath
{

using protocol::instant;

namespace
{

// Bytes per turn. What a small message waits for, at most, is the turns of the clients before its own.
constexpr std::int64_t client_quantum = 65536;
constexpr std::int64_t queue_pair_quantum = 32768;
constexpr std::uint32_t least_cost = 256; // of a packet, however short: it occupies a slot

} // namespace

bool worker::engines_ready()
{
    return std::ranges::all_of(distinct_engines_, [](transmit_engine *engine) { return engine->ready(); });
}

std::size_t worker::transmit(instant now)
{
    const std::size_t limit = 4 * std::size_t{options_.burst};
    sent_ = transmit_endpoint_operations(now);
    flushed_ = 0;
    spent_ = 0;
    std::size_t fruitless = 0; // clients in a row that sent nothing
    while (fruitless < active_clients_.size() && sent_ < limit && engines_ready()) {
        client_turn_ %= active_clients_.size();
        worker_client &client = *active_clients_[client_turn_];
        const std::size_t before = sent_;
        serve(client, limit);
        fruitless = sent_ == before ? fruitless + 1 : 0;
        if (client.allowance <= 0 || sent_ < limit)
            ++client_turn_; // else it goes on with what it may still send
        if (spent_ >= client_quantum && others_ring(client))
            break; // their requests have to be taken before they can have a turn
    }
    flush();
    return sent_;
}

bool worker::others_ring(const worker_client &served) const
{
    return std::ranges::any_of(clients_,
                               [&](const auto &client) { return client.get() != &served && client->bells().any(); });
}

// A client's turn: its queue pairs take turns in it, until its allowance is used up or none has anything to send.
void worker::serve(worker_client &client, std::size_t limit)
{
    if (client.allowance <= 0)
        client.allowance += client_quantum;
    std::size_t fruitless = 0;
    while (client.allowance > 0 && fruitless < client.active.size() && sent_ < limit && engines_ready()) {
        client.turn %= client.active.size();
        worker_qp &qp = *client.active[client.turn];
        if (qp.allowance <= 0)
            qp.allowance += queue_pair_quantum;
        const instant now = kernel::monotonic_now(); // time stamps as late as a turn allows
        const std::size_t before = sent_;
        bool exhausted = false;
        while (qp.allowance > 0 && client.allowance > 0 && sent_ < limit && engines_ready()) {
            const std::uint32_t cost = transmit_one(qp, now);
            if (cost == 0) {
                exhausted = true;
                break;
            }
            qp.allowance -= cost;
            client.allowance -= cost;
            spent_ += cost;
            ++sent_;
        }
        fruitless = sent_ == before ? fruitless + 1 : 0;
        if (exhausted)
            qp.allowance = 0;
        if (exhausted || qp.allowance <= 0)
            ++client.turn;
        // Port by port, a long queue would leave one plane's packets behind the others' answers: that looks like loss.
        if (sent_ - flushed_ >= options_.burst) {
            flush();
            flushed_ = sent_;
        }
    }
    if (fruitless == client.active.size())
        client.allowance = 0;
}

void worker::flush()
{
    for (transmit_engine *engine : distinct_engines_)
        engine->flush();
}

// What the packet costs of an allowance; 0 when nothing may be sent now.
std::uint32_t worker::transmit_one(worker_qp &qp, instant now)
{
    const std::optional<protocol::outgoing> packet = qp.protocol->next_packet(now);
    if (!packet)
        return 0;
    if (!emit(qp.address, qp.peer.host_usid, *packet, &qp))
        qp.protocol->fail(protocol::completion_status::local_protection_error);
    return std::max(packet->payload.bytes, least_cost);
}

bool worker::emit(const mrc_ip &to, std::uint16_t host_usid, const protocol::outgoing &packet, const worker_qp *qp)
{
    const mrc_path_row &path = (*io_.paths)[packet.path.value];
    transmit_engine *engine = path.port < io_.engines.size() ? io_.engines[path.port] : nullptr;
    if (engine == nullptr)
        return true; // a plane without a port here: lost like any packet, and inferred as such
    const std::span<std::byte> out = engine->reserve();
    const bool ipv4 = codec::is_ipv4_mapped(to);
    const std::uint8_t dscp = packet.dscp_as_is ? packet.dscp : options_.code_points[packet.dscp & 63U];
    if (packet.payload.bytes != 0) {
        const auto payload = out.subspan(codec::payload_offset(packet.content, ipv4), packet.payload.bytes);
        // The protocol's key is the slot of the request, its address the offset in the message: take_send().
        if (qp == nullptr || !qp->posted->read(packet.payload.lkey, packet.payload.address, payload, *qp->memory))
            return false;
    }
    const auto size = codec::encode(packet.content,
                                    {.ip = {.source = ipv4 ? options_.address4 : options_.address, .destination = to},
                                     .udp_port = options_.udp_port,
                                     .dscp = dscp,
                                     .ecn = packet.ecn,
                                     .entropy = packet.entropy},
                                    out);
    if (!size)
        return false;
    engine->commit({.path = packet.path.value,
                    .host_usid = host_usid,
                    .flow_label = packet.entropy.value & 0xFFFFFu,
                    .tclass = MRC_TCLASS(dscp, packet.ecn),
                    .next_header = ipv4 ? codec::protocol_ipv4 : codec::protocol_ipv6,
                    .bytes = static_cast<std::uint16_t>(*size)});
    return true;
}

} // namespace mrc::datapath
