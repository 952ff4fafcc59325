// SPDX-License-Identifier: Apache-2.0
// The sending half of a QP: cuts WRITEs into packets, sprays them over the paths, repairs losses selectively, completes
// requests in order. The life of one packet is the table in flight.h; silence of the peer, in peer_silence.h.
//
// Loss is inferred by three rules, each on the negative evidence of one SACK:
// same-EV FIFO: a later packet of its path and class has arrived                              loss_detector.h
// age: a packet sent later by more than the paths' skew has arrived, on any path              path_skew.h
// SLEEK: more than one and a half windows have arrived out of order                           sleek.h
//
// A time-out is judged by relative evidence (path_evidence.h). That the peer's QP was there must be this QP's own
// experience: its process may have died while others of the host hear on every path.
// since the packet was sent …                               the packet  its path
// a later one of this QP arrived, and one of its path       lost        one loss
// a later one of this QP arrived, none of its path          lost        silent: ASSUMED_BAD, see path_group.h
// no later one of this QP arrived, whatever others hear     waits       not to blame: the peer is silent
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>

#include "protocol/congestion/congestion_control.h"
#include "protocol/packet.h"
#include "protocol/packet_number.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/path_selector.h"
#include "protocol/paths/path_skew.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/paths/peer_silence.h"
#include "protocol/qp_config.h"
#include "protocol/receive/sack_bitmap.h"
#include "protocol/send/flight.h"
#include "protocol/send/loss_detector.h"
#include "protocol/send/packet_timers.h"
#include "protocol/send/retransmit_set.h"
#include "protocol/send/retry_policy.h"
#include "protocol/send/rtt_estimator.h"
#include "protocol/send/send_queue.h"
#include "protocol/send/sleek.h"
#include "protocol/send/tail_probe.h"

namespace mrc::protocol
{

// The way to the peer: paths to its T0, the ports that it reports, and what its QPs find out. May this QP suspect
// planes on behalf of all?
struct route {
    path_group &paths;
    const plane_mask &peer_ports;
    peer_planes &peer;
    bool suspects_planes = false;
};

class requester
{
public:
    requester(const qp_config &config, const route &way, path_selector &selector, congestion_control &control,
              qp_counters &counters);

    // Before the first post.
    void begin(const send_terms &terms);
    [[nodiscard]] std::expected<void, post_error> post(const write_request &work, instant now);
    [[nodiscard]] std::optional<outgoing> next_packet(instant now);

    void on_sack(const sack_packet &sack, const arrival &how, instant now);
    void on_nack(const nack_packet &nack, const arrival &how, instant now);
    void on_transport_ack(const transport_ack_packet &ack, const arrival &how, instant now);
    void on_timer(instant now);
    [[nodiscard]] instant next_deadline() const;

    // Why the QP has to fail, once something made it so.
    [[nodiscard]] std::optional<completion_status> failure() const { return failure_; }
    void fail(completion_status status);
    // Starts no request that has not begun (SQD); `drained` when those that had are complete.
    void drain(bool on) { draining_ = on; }
    [[nodiscard]] bool drained() const { return draining_ && !waiting(); }
    [[nodiscard]] std::optional<completion> next_completion() { return queue_.next_completion(); }
    [[nodiscard]] std::size_t outstanding() const { return queue_.outstanding(); }

    // Planes that both ends can use now.
    [[nodiscard]] plane_mask usable() const { return paths_.usable() & peer_reach(); }
    [[nodiscard]] std::uint32_t inflight_packets() const { return inflight_; }
    // Of these, what the congestion controller counts: all but what flew into silence.
    [[nodiscard]] std::uint64_t charged_bytes() const { return charged_bytes_; }
    [[nodiscard]] const rtt_estimator &rtt() const { return rtt_; }

private:
    // What one SACK has done so far.
    struct sack_scan {
        packet_number cack = -1;
        packet_number base = 0;
        std::uint64_t bitmap = 0;
        instant arrived;
        std::uint64_t newly_bytes = 0;
        std::optional<duration> rtt;
        bool proves_retransmission = false; // holes may lie above everything confirmed
        age_evidence age;
    };

    // next_packet.cpp: sending
    [[nodiscard]] plane_mask peer_reach() const { return peer_ports_ & plane_mask{~peer_.suspected().bits()}; }
    [[nodiscard]] std::optional<path_choice> draw(const path_avoidance &avoid = {});
    [[nodiscard]] packet_number edge() const { return delivered_.edge(); }
    [[nodiscard]] duration rto() const { return rtt_.timeout(retry_.shortest()); }
    [[nodiscard]] duration clearly() const { return std::max(duration{0}, rto() - rtt_.smoothed()) / 4; }
    [[nodiscard]] bool waiting() const;
    [[nodiscard]] bool window_open() const;
    [[nodiscard]] bool may_start(const send_request &request) const;
    [[nodiscard]] bool may_fly(std::uint32_t bytes) const;
    [[nodiscard]] std::uint32_t nominal(const transmission &sent) const { return nominal_bytes(sent.bytes); }
    [[nodiscard]] std::uint32_t payload_at(const send_request &request, packet_number number) const;
    [[nodiscard]] std::uint8_t dscp_of(traffic_class in) const;
    [[nodiscard]] std::optional<outgoing> send_probe(instant now);
    [[nodiscard]] std::optional<outgoing> send_clean_probe(instant now);
    [[nodiscard]] outgoing probe_on(const path_choice &where, std::uint16_t id, std::uint8_t dscp, instant now);
    [[nodiscard]] std::optional<outgoing> send_retransmission(instant now);
    [[nodiscard]] std::optional<outgoing> send_last_again(instant now);
    [[nodiscard]] std::optional<outgoing> send_new(instant now);
    [[nodiscard]] std::optional<outgoing> transmit(packet_number number, const path_choice &where, instant now);
    [[nodiscard]] std::optional<outgoing> make_data(const send_request &request, packet_number number,
                                                    const path_choice &where, bool retransmission, instant now) const;

    // acks.cpp: what the peer says
    void heard(instant now);
    [[nodiscard]] bool plausible(const sack_packet &sack, const sack_scan &scan, packet_number trigger) const;
    void on_path_feedback(const sack_packet &sack, std::uint16_t slot, bool proven, instant now);
    void arrived(std::uint16_t slot, instant sent_at);
    [[nodiscard]] bool land(transmission &sent);
    [[nodiscard]] bool refusable(packet_number number) const;
    // The path that the SACK is proven to speak of.
    std::optional<std::uint16_t> on_probe_answer(const sack_packet &sack, const arrival &how, sack_scan &scan);
    std::optional<std::uint16_t> on_trigger(const sack_packet &sack, packet_number trigger, const arrival &how,
                                            sack_scan &scan);
    void merge(sack_scan &scan);
    void deliver(packet_number number, sack_scan &scan);
    void count_spurious(transmission &sent);
    void on_suspect_cleared(std::uint16_t slot, instant now);
    void advance(instant now);
    void follow_window(const sack_packet &sack, const sack_scan &scan);
    [[nodiscard]] std::optional<duration> match(const transmission &sent, std::optional<std::uint16_t> slot,
                                                std::uint16_t tx_timestamp, instant arrived) const;

    // loss_inference.cpp: what is missing
    void infer_losses(sack_scan &scan, instant now);
    void prove(const transmission &sent, sack_scan &scan);
    void prove_arrivals(sack_scan &scan);
    void infer_loss(packet_number number, const sack_scan &scan, instant now);
    void recover(std::uint32_t out_of_order, instant now);

    // timers.cpp: what nobody says
    void follow_paths(instant now)
    {
        if ((paths_.local().up & peer_reach()) != reachable_ || silence_generation_ != paths_.silence_generation())
            leave_paths(now);
    }
    void leave_paths(instant now);
    void forgive(instant now);
    void on_timeout(packet_number number, instant now);
    void lose(packet_number number, instant now);
    void blame_loss(const transmission &sent, instant now);
    void blame_age(const transmission &sent, instant now);
    void blame_silence(const transmission &sent, instant now);
    void blame_missing(std::uint16_t slot, instant sent_at, instant now);
    [[nodiscard]] bool blame_plane(std::uint16_t slot, instant sent_at, instant now);
    void fall_silent(packet_number number, instant now);
    void discharge();
    void stay_silent(instant now);
    void resend_oldest(instant now);
    [[nodiscard]] instant gives_up_at() const;

    qp_config config_;
    path_group &paths_;
    const plane_mask &peer_ports_;
    peer_planes &peer_;
    bool suspects_planes_;
    path_selector &selector_;
    congestion_control &control_;
    qp_counters &counters_;

    psn_space space_;
    send_queue queue_;
    flight flight_;
    sack_bitmap delivered_;
    retransmit_set lost_;
    packet_timers timers_;
    loss_detector detector_;
    path_skew skew_;
    sleek sleek_;
    rtt_estimator rtt_;
    retry_policy retry_;
    peer_silence silence_;
    tail_probe tail_;

    packet_number next_ = 0; // next new packet
    std::uint64_t order_ = 0;
    std::uint32_t inflight_ = 0;
    std::uint64_t charged_bytes_ = 0; // of inflight_: in the window
    std::uint64_t silent_bytes_ = 0;  // of inflight_: flew into silence
    std::uint64_t credited_ = 0;      // bytes that Transport ACKs confirmed since the last SACK
    std::uint32_t window_;            // PSNs that the peer takes beyond cack
    bool draining_ = false;
    bool probe_due_ = false;
    bool clean_probe_due_ = false;
    bool last_again_due_ = false;

    instant progress_at_;              // cack or a Transport ACK advanced, or the flight began
    instant heard_at_;                 // anything from the peer's QP, or the flight began
    instant reached_ = instant::min(); // the peer's QP: latest sending time of what is known to have arrived
    instant timer_floor_;              // waits count from here at the earliest
    std::uint64_t blame_floor_ = 0;    // transmissions up to this order say nothing about their paths

    // The packet that was sent again when silence began, as it had been sent before.
    struct {
        packet_number number = -1;
        std::uint16_t slot = 0;
        instant sent_at;
    } suspect_;

    std::uint32_t silence_generation_ = 0;
    plane_mask reachable_; // planes whose packets in flight may arrive
    std::optional<completion_status> failure_;
};

} // namespace mrc::protocol
