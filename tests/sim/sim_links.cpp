// SPDX-License-Identifier: Apache-2.0
// What the simulated network's links do to frames.
#include "sim_network.h"

#include <algorithm>

namespace mrc::sim
{

using namespace protocol;

namespace
{

// Whether the path's faults let a frame be trimmed.
bool may_be_trimmed(const frame &each)
{
    return each.dscp == MRC_DSCP_TRIMMABLE || each.dscp == MRC_DSCP_TRIMMABLE_RETX;
}

} // namespace

bool network::chance(double probability)
{
    return probability > 0 && static_cast<double>(random_.next() >> 11) * 0x1p-53 < probability;
}

picoseconds network::up_to(duration longest)
{
    if (longest.count() <= 0)
        return 0;
    return static_cast<picoseconds>(random_.next() % static_cast<std::uint64_t>(longest.count() + 1)) * nanosecond;
}

bool network::swallowed(const host &from, const host &to, unsigned slot, instant departs)
{
    const unsigned plane = plane_of(slot);
    if (!from.ports.up.has(plane_index{static_cast<std::uint8_t>(plane)})) {
        hit(fault::port_down);
        return true;
    }
    const path_model &path = from.out[slot];
    for (const auto *cuts : {&path.outages, &from.links[plane].from_host, &to.links[plane].to_host}) {
        const auto cut = std::ranges::find_if(*cuts, [departs](const outage &each) { return each.holds(departs); });
        if (cut == cuts->end())
            continue;
        hit(cut->kind);
        return true;
    }
    if (chance(path.loss)) {
        hit(fault::loss);
        return true;
    }
    return false;
}

// The frame as bytes and back, damaged or not. False: the receiver refuses it. What it takes is what was sent, but for
// the flow label, which the ICRC does not cover: another EV.
bool network::cross_wire(frame &each, const host &from)
{
    const bool damaged = chance(from.out[each.path.value - 1].corrupt);
    if (!damaged && !config_.encoded)
        return true;
    const packet &content = std::get<packet>(each.content);
    const auto *data = std::get_if<data_packet>(&content);
    const auto payload =
        std::span{from.source}.subspan(each.payload_address, data == nullptr ? 0 : data->payload_bytes);
    if (!image_.write(content, payload, each.entropy, each.dscp)) {
        ++wire_faults_;
        return true;
    }
    if (damaged) {
        hit(fault::corruption);
        image_.damage(random_);
    }
    const auto read = image_.read();
    if (!read) {
        wire_faults_ += damaged ? 0 : 1;
        return false;
    }
    const bool same = read->content == content && std::ranges::equal(read->payload, payload);
    wire_faults_ += same && (damaged || read->entropy == each.entropy) ? 0 : 1;
    each.entropy = read->entropy;
    return true;
}

void network::mark(frame &each, const path_model &path)
{
    each.congestion_experienced = each.ect && chance(path.congested);
    hit(fault::congestion, each.congestion_experienced ? 1 : 0);
    if (may_be_trimmed(each) && chance(path.trimmed))
        trim(each, path);
}

void network::trim(frame &each, const path_model &path)
{
    each.trimmed = true;
    each.trimmed_last_hop = chance(path.last_hop);
    each.congestion_experienced = false;
    hit(each.trimmed_last_hop ? fault::trim_last_hop : fault::trim);
    if (config_.encoded)
        cut(each);
    if (auto *data = std::get_if<data_packet>(&std::get<packet>(each.content));
        data != nullptr && chance(10 * path.corrupt)) {
        hit(fault::garbled_trim);
        garble(*data, random_);
    }
}

// As a switch trims: the payload is gone, and perhaps headers before it. What carried none means nothing any more.
void network::cut(frame &each)
{
    constexpr std::size_t outside = 14 + 40; // Ethernet and the outer header, which are not simulated
    constexpr std::size_t least = MRC_TRIM_FRAME - outside;
    const auto spare = static_cast<std::uint32_t>(image_.header_bytes() - least);
    if (const auto read = image_.read_trimmed(least + random_.below(spare + 1)))
        each.content = read->content;
    else
        wire_faults_ += std::holds_alternative<data_packet>(std::get<packet>(each.content)) ? 1 : 0;
}

deliveries network::path_faults::carry(frame &each, picoseconds arrives)
{
    const host &from = *net_.hosts_[from_];
    const host &to = *net_.hosts_[net_.engine_.topology.host_behind(each.route[each.hops - 1u])];
    const unsigned slot = each.path.value - 1;
    const path_model &path = from.out[slot];
    deliveries found;
    if (net_.swallowed(from, to, slot, to_instant(arrives)) || !net_.cross_wire(each, from))
        return found;
    net_.mark(each, path);
    line &here = paths_[slot];
    found.count = net_.chance(path.duplicate) ? 2 : 1;
    net_.hit(fault::duplicate, found.count - 1);
    if (!each.trimmed && std::holds_alternative<data_packet>(std::get<packet>(each.content)))
        net_.data_copies_ += found.count - 1;
    for (unsigned copy = 0; copy < found.count; ++copy) {
        picoseconds at = arrives + path.delay.count() * nanosecond + net_.up_to(path.jitter);
        if (net_.chance(path.overtake))
            at += net_.up_to(5 * path.delay);
        else
            at = here.in_order = std::max(at, here.in_order);
        net_.hit(fault::reorder, at < here.latest ? 1 : 0);
        here.latest = std::max(here.latest, at);
        found.at[copy] = at;
    }
    return found;
}

} // namespace mrc::sim
