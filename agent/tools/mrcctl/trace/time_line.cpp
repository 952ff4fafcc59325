// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/time_line.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "protocol/trace_event.h"

namespace mrc::ctl
{

namespace
{

using protocol::trace_kind;
using protocol::trace_reason;

// What both ends know of a packet.
struct packet_key {
    trace_kind kind = trace_kind::none; // as its receiver calls it
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t psn = 0;
    std::uint32_t ev = 0;
    std::uint64_t value = 0;
    friend auto operator<=>(const packet_key &, const packet_key &) = default;
};

trace_kind kind_of_answer(const mrc_trace_row &row)
{
    switch (static_cast<trace_reason>(row.reason)) {
    case trace_reason::sack:
        return trace_kind::sack;
    case trace_reason::nack:
        return trace_kind::nack;
    default:
        return trace_kind::ack;
    }
}

std::optional<packet_key> key_of_sent(const mrc_trace_row &row)
{
    switch (static_cast<trace_kind>(row.kind)) {
    case trace_kind::send:
        return packet_key{trace_kind::arrive, row.qpn, row.peer_qpn, row.psn, row.ev, 0};
    case trace_kind::probe:
        return packet_key{trace_kind::probe, row.qpn, row.peer_qpn, 0, row.ev, row.value};
    case trace_kind::answer:
        return packet_key{kind_of_answer(row), row.qpn, row.peer_qpn, row.psn, row.ev, row.value};
    default:
        return std::nullopt;
    }
}

std::optional<packet_key> key_of_arrived(const mrc_trace_row &row)
{
    switch (static_cast<trace_kind>(row.kind)) {
    case trace_kind::arrive:
        if (row.reason == static_cast<__u16>(trace_reason::probe))
            return packet_key{trace_kind::probe, row.peer_qpn, row.qpn, 0, row.ev, row.value};
        return packet_key{trace_kind::arrive, row.peer_qpn, row.qpn, row.psn, row.ev, 0};
    case trace_kind::sack:
    case trace_kind::nack:
    case trace_kind::ack:
        return packet_key{static_cast<trace_kind>(row.kind), row.peer_qpn, row.qpn, row.psn, row.ev, row.value};
    default:
        return std::nullopt;
    }
}

constexpr std::size_t several = std::numeric_limits<std::size_t>::max();
using rows_by_key = std::map<packet_key, std::size_t>; // `several`: they cannot be told apart

template <typename Key>
rows_by_key index_rows(const recording &of, const Key &key)
{
    rows_by_key index;
    for (std::size_t row = 0; row < of.rows.size(); ++row)
        if (const auto known = key(of.rows[row]))
            if (const auto [at, is_new] = index.try_emplace(*known, row); !is_new)
                at->second = several;
    return index;
}

std::int64_t shortest_way(const recording &from, const recording &to, std::span<const seen_twice> packets)
{
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (const seen_twice &packet : packets)
        shortest = std::min(shortest, real_time(to, packet.arrived) - real_time(from, packet.sent));
    return shortest;
}

} // namespace

std::int64_t real_time(const recording &of, std::size_t row)
{
    return static_cast<std::int64_t>(of.rows[row].time_ns) + of.from.to_real_ns;
}

std::vector<seen_twice> match_packets(const recording &from, const recording &to)
{
    const rows_by_key arrived = index_rows(to, key_of_arrived);
    std::vector<seen_twice> packets;
    for (const auto &[key, row] : index_rows(from, key_of_sent))
        if (const auto at = arrived.find(key); row != several && at != arrived.end() && at->second != several)
            packets.push_back({.sent = row, .arrived = at->second});
    return packets;
}

clock_difference compare_clocks(const recording &first, const recording &second, std::span<const seen_twice> there,
                                std::span<const seen_twice> back)
{
    clock_difference found{.there = there.size(), .back = back.size()};
    if (!found.is_known())
        return found;
    const std::int64_t out = shortest_way(first, second, there);
    const std::int64_t home = shortest_way(second, first, back);
    found.second_ahead_ns = (out - home) / 2;
    found.round_trip_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(out + home, 0));
    return found;
}

std::vector<timed_row> time_line(std::span<const recording> recordings, std::int64_t second_ahead_ns,
                                 const trace_filter &filter)
{
    std::vector<timed_row> line;
    for (std::size_t of = 0; of < recordings.size(); ++of)
        for (std::size_t row = 0; row < recordings[of].rows.size(); ++row)
            if (passes(filter, recordings[of].rows[row]))
                line.push_back({real_time(recordings[of], row) - (of == 0 ? 0 : second_ahead_ns), of, row});
    std::ranges::stable_sort(line, {}, &timed_row::at_ns);
    return line;
}

} // namespace mrc::ctl
