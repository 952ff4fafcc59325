// SPDX-License-Identifier: Apache-2.0
// The receiving half of a QP: places every packet as it arrives, in any order, and answers.
//
// Which packets it accepts, and what it answers to the others, is the table in acceptance.h.
//
// SACK triggers (§3.1): more than 16 KiB since the last (each packet counts at least 1 KiB), AckReq, CE, rtx,
// duplicate, probe. A SACK says "arrived", not "written": memory may refuse later with a Transport NAK, which is sent
// when all packets before the refused one have arrived; from the refused packet on nothing is written any more, and
// this end of the QP fails too (IBTA 9.9.3). Memory may also hold payload back, to write it together with others':
// until that is done the edge stands, and with it all that says "complete".
//
// A message with immediate takes a receive request when the edge passes its last packet, that is, when everything sent
// before it has arrived. There is no RNR: without a receive request the QP fails (protocol.md §2.2). But where requests
// could not have been posted, because completions that nobody has taken hold their places, the packet waits at its
// sender: NACK NO_RESOURCE.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/bit_ring.h"
#include "protocol/memory_sink.h"
#include "protocol/packet.h"
#include "protocol/packet_number.h"
#include "protocol/qp_config.h"
#include "protocol/receive/acceptance.h"
#include "protocol/receive/host_backlog.h"
#include "protocol/receive/immediate_stash.h"
#include "protocol/receive/offered_window.h"
#include "protocol/receive/pending_sacks.h"
#include "protocol/receive/receive_queue.h"
#include "protocol/receive/sack_bitmap.h"
#include "protocol/slab_queue.h"
#include "protocol/trace_sink.h"

namespace mrc::protocol
{

class responder
{
public:
    // What it remembers of packets is borrowed from the pool, if there is one.
    responder(const qp_config &config, memory_sink &memory, qp_counters &counters, slab_pool *pool = nullptr,
              trace_sink *trace = nullptr);

    void on_data(const data_packet &data, std::span<const std::byte> payload, const arrival &how, instant now);
    void on_probe(const probe_packet &probe, const arrival &how);

    // What memory holds of its packets has been written now, and they count as complete as they would have: until then
    // the edge stays where the first of them is, so that nobody is told of a message before its bytes are there.
    void settle();
    // The payload of this packet, which memory held, could not be written. Before settle().
    void refuse_held(packet_number number, std::size_t payload_bytes);

    [[nodiscard]] bool has_answer() const;
    // Of the next answer, which stays where it is: the path by which came what it answers. A Transport ACK answers the
    // newest packet of those it covers, and so leaves beside that one's SACK: two answers, one burst of one port.
    [[nodiscard]] path_index next_cause() const;
    // NACKs, SACKs, Transport ACK or NAK. It counts as sent.
    [[nodiscard]] std::optional<packet> next_answer(instant now);

    // Receive requests, for messages with immediate.
    [[nodiscard]] std::expected<void, post_error> post_receive(std::uint64_t id) { return receives_.post(id); }
    [[nodiscard]] std::optional<receive_completion> next_receive_completion() { return receives_.next_completion(); }
    [[nodiscard]] bool has_receive_completion() const { return receives_.has_completion(); }
    [[nodiscard]] std::size_t outstanding_receives() const { return receives_.outstanding(); }
    // Receive requests that the next packet may need beyond those posted: one packet can close the gap before all
    // immediates that wait, and bring one itself.
    [[nodiscard]] std::size_t receives_wanted()
    {
        const std::size_t messages = immediates_.waiting() + 1;
        return receives_.make_room(messages) ? receives_.wanted(messages) : 0;
    }

    // What it does not need for what waits and is missing goes back to the pool.
    void rest();
    // Tells the pool what will be asked for.
    void announce() const;

    // Why the QP has to fail: a request of the peer was refused, and everything before it is done.
    [[nodiscard]] std::optional<completion_status> failure() const { return failure_; }
    // The Transport NAK that told the peer so (MRC_AETH_NAK_*).
    [[nodiscard]] std::optional<std::uint8_t> failure_syndrome() const
    {
        return failure_ && refused_ ? std::optional{refused_->syndrome} : std::nullopt;
    }
    // From now on new packets are unexpected; receive requests are flushed.
    void fail();

    // What every SACK says of this end: by how much the sender's window shall shrink (rcv_cwnd_pen, 0…127).
    void set_penalty(std::uint8_t penalty);
    // With Dynamic MPR: of its window SACKs offer so many parts of `whole_window`, offered_window.h. Less than all, and
    // then all: until the next call the cuts meanwhile are taken back (restore_cwnd).
    void set_share(unsigned share);

    [[nodiscard]] const receive_progress &progress() const { return progress_; }
    void reset_progress() { progress_ = {}; }

private:
    struct pending_nack {
        nack_packet content;
        path_index path;
        instant arrived;
    };
    struct refusal {
        packet_number number = 0;
        std::uint8_t syndrome = 0;
    };

    [[nodiscard]] bool well_formed(const data_packet &data, std::span<const std::byte> payload) const;
    [[nodiscard]] reception classify(const data_packet &data, std::span<const std::byte> payload, packet_number number,
                                     const arrival &how) const;
    [[nodiscard]] bool may_answer_beyond(psn sequence, instant now);
    [[nodiscard]] bool make_room(const data_packet &data);
    void accept(const data_packet &data, packet_number number, const arrival &how);
    [[nodiscard]] reception place(const data_packet &data, std::span<const std::byte> payload, packet_number number);
    [[nodiscard]] bool has_place_for_receive(std::uint16_t rqmsn) const;
    void stash_immediate(const data_packet &data, packet_number number);
    void refuse(packet_number number, std::uint8_t syndrome);
    void advance_edge();
    [[nodiscard]] bool deliver_immediate(packet_number last);
    void count_progress(instant at);
    void trigger_sack(const data_packet &data, packet_number number, const arrival &how, bool duplicate, instant now);
    pending_sacks::outcome put(const sack_trigger &trigger);
    void acknowledge_again(path_index path);
    void send_nack(const data_packet &data, std::uint8_t reason, const arrival &how);
    void trace_arrival(trace_reason what, psn sequence, std::uint64_t value, const arrival &how) const;

    [[nodiscard]] std::uint16_t reflected(std::uint16_t stamp, instant arrived, instant now) const;
    [[nodiscard]] packet_number bitmap_base(const sack_trigger &trigger);
    [[nodiscard]] sack_packet make_sack(const sack_trigger &trigger, instant now);
    [[nodiscard]] transport_ack_packet make_ack() const;

    static constexpr std::size_t nack_capacity = 256;

    qpn local_;
    qpn peer_;
    bool answer_trimmed_;
    bool nack_out_of_window_;
    bool dynamic_mpr_;
    bool service_time_;
    duration backlog_mark_;
    psn_space space_;
    memory_sink &memory_;
    qp_counters &counters_;
    const slab_pool *pool_;
    trace_sink &trace_;

    sack_bitmap received_;
    bit_ring ends_;               // the packet is the last of its message
    bit_ring immediate_ends_;     // and carries an immediate
    std::uint32_t completed_ = 0; // messages
    packet_number last_end_ = -1; // last packet of the last completed message
    std::uint64_t received_bytes_ = 0;
    std::uint32_t since_sack_ = 0; // sack_trigger_cnt
    std::uint32_t view_ = 0;       // turns the bitmap's base (D6)
    packet_number sweep_ = 0;      // where the next view between edge and trigger begins
    std::uint8_t penalty_ = 0;
    bool restore_ = false;
    std::uint8_t share_ = whole_window;
    immediate_stash immediates_;
    receive_queue receives_;
    std::optional<completion_status> failure_;
    bool failed_ = false;
    bool holds_ = false; // memory has payload that is not written yet
    std::optional<refusal> refused_;
    bool ack_due_ = false;
    bool nak_due_ = false;
    path_index acknowledged_path_; // of the newest packet that these answer
    // Answered by NACK PSN_OOR_WINDOW in this interval.
    struct {
        instant until = instant::min();
        std::array<psn, 16> sequences{};
        std::size_t count = 0;
    } beyond_;
    pending_sacks sacks_;
    slab_queue<pending_nack> nacks_;
    receive_progress progress_;
};

} // namespace mrc::protocol
