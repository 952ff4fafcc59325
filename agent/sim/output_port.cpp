// SPDX-License-Identifier: Apache-2.0
#include "sim/output_port.h"

#include <algorithm>

namespace mrc::sim
{

void output_port::append(queue &to, frame_pool &frames, frame_index index)
{
    frames[index].next = no_frame;
    if (to.tail == no_frame)
        to.head = index;
    else
        frames[to.tail].next = index;
    to.tail = index;
    to.bytes += frames[index].wire_bytes;
}

frame_index output_port::remove(queue &from, frame_pool &frames)
{
    const frame_index index = from.head;
    from.head = frames[index].next;
    if (from.head == no_frame)
        from.tail = no_frame;
    from.bytes -= frames[index].wire_bytes;
    return index;
}

bool output_port::trimmable(const frame &each)
{
    return (each.dscp == MRC_DSCP_TRIMMABLE || each.dscp == MRC_DSCP_TRIMMABLE_RETX) &&
           each.wire_bytes > trimmed_wire_bytes;
}

admission output_port::admit(frame_pool &frames, frame_index index)
{
    frame &each = frames[index];
    if (!each.control) {
        const std::uint64_t after = data_.bytes + each.wire_bytes;
        const bool may_trim = limits_.trim_limit != 0 && trimmable(each);
        if (after <= (may_trim ? limits_.trim_limit : limits_.drop_limit)) {
            append(data_, frames, index);
            counters.most_waiting = std::max(counters.most_waiting, data_.bytes);
            return admission::queued;
        }
        if (!may_trim) {
            ++counters.dropped_full;
            return admission::dropped;
        }
        ++counters.trimmed;
        each.trimmed = true;
        each.trimmed_last_hop = limits_.last_hop;
        each.dscp = limits_.last_hop ? MRC_DSCP_TRIMMED_LASTHOP : MRC_DSCP_TRIMMED;
        each.control = true;
        each.wire_bytes = trimmed_wire_bytes;
    }
    if (control_.bytes + each.wire_bytes > limits_.control_limit) {
        ++counters.dropped_full;
        return admission::dropped;
    }
    append(control_, frames, index);
    return admission::queued;
}

bool output_port::marks(protocol::random_source &random) const
{
    if (limits_.ecn_max == 0 || data_.bytes < limits_.ecn_min)
        return false;
    if (data_.bytes >= limits_.ecn_max)
        return true;
    const std::uint64_t span = limits_.ecn_max - limits_.ecn_min;
    return random.next() % span < data_.bytes - limits_.ecn_min;
}

frame_index output_port::take(frame_pool &frames, protocol::random_source &random)
{
    if (control_.head != no_frame)
        return remove(control_, frames);
    if (data_.head == no_frame)
        return no_frame;
    frame &each = frames[data_.head];
    if (each.ect && marks(random)) {
        counters.marked += each.congestion_experienced ? 0 : 1;
        each.congestion_experienced = true;
    }
    return remove(data_, frames);
}

} // namespace mrc::sim
