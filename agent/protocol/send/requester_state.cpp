// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/requester_state.h"

#include "protocol/send/retransmission.h"

namespace mrc::protocol
{

requester_state::requester_state(const qp_config &config_, const route &way_, sack_proofs &proofs,
                                 path_selector &selector_, congestion_control &control_, qp_counters &counters_)
    : config{config_}, way{way_}, selector{selector_}, control{control_}, counters{counters_}, space{config.first_send},
      queue{config.send_queue_depth, config.payload_bytes}, window{config.window_psns}, packets{config.window_psns},
      delivered{config.window_psns}, lost{config.window_psns}, timers{packets.capacity()},
      same_path{proofs, way.paths.size()}, retry{config.retry}, silence_generation{way.paths.silence_generation()},
      carrying{way.carrying()}
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
