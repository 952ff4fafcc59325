// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/requester_state.h"

#include <algorithm>

#include "protocol/send/retransmission.h"

namespace mrc::protocol
{

requester_state::requester_state(const qp_config &config_, const route &way_, sack_proofs &proofs,
                                 path_selector &selector_, congestion_control &control_, qp_counters &counters_,
                                 slab_pool *pool, trace_sink *trace_)
    : config{config_}, way{way_}, selector{selector_}, control{control_}, counters{counters_},
      trace{trace_or_none(trace_)}, space{config.first_send},
      queue{config.send_queue_depth, config.payload_bytes, pool}, window{config.window_psns},
      packets{config.window_psns, pool}, delivered{config.window_psns, pool}, lost{config.window_psns, pool},
      timers{config.window_psns, pool}, same_path{proofs, way.paths.size(), pool}, retry{config.retry}, tail{pool},
      silence_generation{way.paths.silence_generation()}, carrying{way.carrying()}
{
}

void begin(requester_state &sender, const send_terms &terms)
{
    sender.space = psn_space{terms.first};
    sender.window = sender.config.window_psns = std::min(terms.window_psns, sender.config.window_psns);
    sender.config.max_wimm = terms.max_wimm;
    sender.config.retry = terms.retry;
    sender.retry = retry_policy{terms.retry};
}

std::expected<void, post_error> post(requester_state &sender, const write_request &work)
{
    if (work.immediate && sender.config.max_wimm == 0)
        return std::unexpected{post_error::no_immediates};
    return sender.queue.post(work);
}

bool requester_state::find_room()
{
    if (!packets.make_room(edge(), next) || !timers.make_room(edge(), next) || !delivered.hold() || !lost.hold())
        return false;
    const auto room = static_cast<packet_number>(std::min(packets.room(), timers.room()));
    room_end = std::max(edge() + room, next + 1);
    return true;
}

void rest(requester_state &sender)
{
    sender.queue.rest();
    if (sender.waiting() && !sender.failure)
        return;
    sender.room_end = 0;
    sender.packets.forget_all();
    sender.timers.rest();
    sender.delivered.rest();
    sender.lost.rest();
    sender.same_path.rest();
    sender.tail.rest();
}

void announce(const requester_state &sender)
{
    sender.queue.announce();
    sender.packets.announce();
    sender.timers.announce();
    sender.delivered.announce();
    sender.lost.announce();
    sender.same_path.announce();
    sender.tail.announce();
}

void fail(requester_state &sender, completion_status status)
{
    if (!sender.failure)
        sender.failure = status;
    sender.queue.fail(status);
    for (packet_number number = sender.edge(); number < sender.next; ++number) {
        transmission &sent = sender.packets[number];
        sender.timers.disarm(sender.packets.index(number));
        if (sent.fate != packet_fate::inflight)
            continue;
        if (land(sender, sent))
            sender.control.on_abandoned(nominal(sent));
        sent.step(packet_event::abandon);
    }
    sender.silence.end();
}

} // namespace mrc::protocol
