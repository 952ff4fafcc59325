// SPDX-License-Identifier: Apache-2.0
// Not HOT: a probe's note in the program names its word by the symbol, which link-time optimisation takes away.
#define _SDT_HAS_SEMAPHORES 1 // NOLINT(bugprone-reserved-identifier,cert-*): the header asks for it
#include "datapath/trace_probes.h"

#include <atomic>

#include <sys/sdt.h>

using mrc::protocol::trace_kind;

// As the header has it: provider, probe and `semaphore`.
#define MRC_PROBE_WORD(name)                                                                                           \
    extern "C" {                                                                                                       \
    [[gnu::section(".probes"), gnu::used]] unsigned short mrc_##name##_semaphore = 0;                                  \
    }
MRC_PROBE_WORD(send)
MRC_PROBE_WORD(probe)
MRC_PROBE_WORD(arrive)
MRC_PROBE_WORD(answer)
MRC_PROBE_WORD(sack)
MRC_PROBE_WORD(nack)
MRC_PROBE_WORD(ack)
MRC_PROBE_WORD(loss)
MRC_PROBE_WORD(timer)
MRC_PROBE_WORD(path)
MRC_PROBE_WORD(state)

namespace mrc::datapath
{

namespace
{

// Another process writes it.
bool is_set(unsigned short &word)
{
    return std::atomic_ref{word}.load(std::memory_order_relaxed) != 0;
}

} // namespace

bool probes_attached()
{
    return is_set(mrc_send_semaphore) || is_set(mrc_probe_semaphore) || is_set(mrc_arrive_semaphore) ||
           is_set(mrc_answer_semaphore) || is_set(mrc_sack_semaphore) || is_set(mrc_nack_semaphore) ||
           is_set(mrc_ack_semaphore) || is_set(mrc_loss_semaphore) || is_set(mrc_timer_semaphore) ||
           is_set(mrc_path_semaphore) || is_set(mrc_state_semaphore);
}

void fire_probe(const protocol::trace_event &event)
{
    const unsigned qpn = event.local.value;
    const unsigned psn = event.sequence.value();
    const unsigned ev = event.entropy.value;
    const char *reason = protocol::trace_reason_names[static_cast<std::size_t>(event.reason)].data();
    const unsigned long value = event.value;
    const unsigned peer_qpn = event.peer.value;
#define MRC_FIRE(name)                                                                                                 \
    case trace_kind::name:                                                                                             \
        STAP_PROBE6(mrc, name, qpn, psn, ev, reason, value, peer_qpn);                                                 \
        return
    switch (event.kind) {
    case trace_kind::none:
        return;
        MRC_FIRE(send);
        MRC_FIRE(probe);
        MRC_FIRE(arrive);
        MRC_FIRE(answer);
        MRC_FIRE(sack);
        MRC_FIRE(nack);
        MRC_FIRE(ack);
        MRC_FIRE(loss);
        MRC_FIRE(timer);
        MRC_FIRE(path);
        MRC_FIRE(state);
    }
#undef MRC_FIRE
}

} // namespace mrc::datapath
