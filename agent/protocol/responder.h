// SPDX-License-Identifier: Apache-2.0
// The receiving half of a QP: places every packet as it arrives, in any order, and answers.
//
// Acceptance (specification 6.3.1, protocol text §2.3), ePSN = cack + 1, W = MPR:
// PSN                               memory  Transport ACK          reliability
// in [ePSN, ePSN + W), new          write   when the edge closes   SACK by its triggers
// in [ePSN, ePSN + W), marked       -       -                      SACK
// below ePSN                        -       again                  SACK
// at or above ePSN + W              -       -                      NACK PSN_OOR_WINDOW, limited in rate (D5)
// trimmed, new                      -       -                      NACK TRIMMED or TRIMMED_LASTHOP; no state changes
//
// SACK triggers (§3.1): more than 16 KiB since the last (each packet counts at least 1 KiB), AckReq, CE, rtx,
// duplicate, probe. A SACK says "arrived", not "written": memory may refuse later with a Transport NAK, which is sent
// when all packets before the refused one have arrived; from the refused packet on nothing is written any more.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/bounded_ring.h"
#include "protocol/memory_sink.h"
#include "protocol/packet.h"
#include "protocol/packet_number.h"
#include "protocol/qp_config.h"
#include "protocol/sack_bitmap.h"

namespace mrc::protocol
{

class responder
{
public:
    responder(const qp_config &config, memory_sink &memory, qp_counters &counters);

    void on_data(const data_packet &data, std::span<const std::byte> payload, const arrival &how, instant now);
    void on_probe(const probe_packet &probe, const arrival &how);

    // The next answer: Transport ACK or NAK, NACKs, SACKs; it may leave on any reverse path.
    [[nodiscard]] bool has_answer() const;
    [[nodiscard]] std::optional<packet> next_answer();

    [[nodiscard]] const receive_progress &progress() const { return progress_; }
    void reset_progress() { progress_ = {}; }
    [[nodiscard]] std::uint32_t messages_completed() const { return completed_; }

private:
    struct sack_trigger {
        packet_number number = 0;
        ev entropy;
        std::uint16_t tx_timestamp = 0;
        std::uint16_t probe_id = 0;
        bool probe = false;
        bool congested = false;
        bool retransmission = false;
    };
    struct refusal {
        packet_number number = 0;
        std::uint8_t syndrome = 0;
    };

    [[nodiscard]] bool well_formed(const data_packet &data, std::span<const std::byte> payload) const;
    void on_trimmed(const data_packet &data, packet_number number, const arrival &how);
    void on_beyond_window(const data_packet &data, const arrival &how, instant now);
    void accept(const data_packet &data, std::span<const std::byte> payload, packet_number number, const arrival &how);
    void place(const data_packet &data, std::span<const std::byte> payload, packet_number number);
    void refuse(packet_number number, std::uint8_t syndrome);
    void advance_edge();
    void count_progress(instant at);
    void trigger_sack(const data_packet &data, packet_number number, const arrival &how, bool duplicate);
    void acknowledge_again();
    [[nodiscard]] bool take_end(packet_number number);
    void send_nack(const data_packet &data, std::uint8_t reason, const arrival &how);

    [[nodiscard]] sack_packet make_sack(const sack_trigger &trigger);
    [[nodiscard]] transport_ack_packet make_ack() const;

    static constexpr std::size_t sack_capacity = 64;
    static constexpr std::size_t nack_capacity = 256;

    qpn local_;
    qpn peer_;
    bool answer_trimmed_;
    bool nack_out_of_window_;
    psn_space space_;
    memory_sink &memory_;
    qp_counters &counters_;

    sack_bitmap received_;
    std::vector<std::uint64_t> ends_; // ring of bits: the packet is the last of its message
    std::uint32_t completed_ = 0;     // messages
    packet_number last_end_ = -1;     // last packet of the last completed message
    std::uint64_t received_bytes_ = 0;
    std::uint32_t since_sack_ = 0; // sack_trigger_cnt
    bool full_view_ = false;       // every second SACK begins at the edge (D6)
    std::optional<refusal> refused_;
    bool ack_due_ = false;
    bool nak_due_ = false;
    std::optional<instant> last_beyond_;
    bounded_ring<sack_trigger, sack_capacity> sacks_;
    bounded_ring<nack_packet, nack_capacity> nacks_;
    receive_progress progress_;
};

} // namespace mrc::protocol
