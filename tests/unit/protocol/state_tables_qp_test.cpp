// SPDX-License-Identifier: Apache-2.0
// The state tables of responder and QP, walked: each state against each event.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/queue_pair.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t payload_bytes = 1024;
constexpr psn first{0xFFFFFF}; // wraps at once

path_group_config fabric(unsigned planes)
{
    path_group_config config;
    config.planes = planes;
    config.base = path_index{1};
    return config;
}

qp_config towards(qp_state state = qp_state::ready_to_send)
{
    qp_config config;
    config.local = qpn{0x20};
    config.peer = qpn{0x10};
    config.first_receive = first;
    config.payload_bytes = payload_bytes;
    config.receive_window_psns = 128;
    config.receive_queue_depth = 1;
    config.state = state;
    return config;
}

// ---- acceptance.h and responder.h: of a message that never ends, packets 0 (a message by itself), 1 and 5 have
// arrived.

class sink final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t rkey, std::uint64_t, std::span<const std::byte>) override
    {
        if (busy)
            return std::unexpected{write_refusal::busy};
        if (rkey != 7)
            return std::unexpected{write_refusal::unknown_key};
        ++writes;
        return {};
    }
    bool busy = false;
    unsigned writes = 0;
};

struct receiver {
    receiver()
    {
        receive(0, MRC_OP_WRITE_ONLY);
        receive(1);
        receive(5);
        (void)answers();
        memory.writes = 0;
    }
    void receive(packet_number number, std::uint8_t opcode = MRC_OP_WRITE_MIDDLE, std::uint32_t rkey = 7)
    {
        data_packet data;
        data.opcode = opcode;
        data.sequence = psn_space{first}.at(number);
        data.rkey = rkey;
        data.rqmsn = rqmsn;
        data.payload_bytes = bytes;
        data.message_bytes = opcode == MRC_OP_WRITE_ONLY ? bytes : 1u << 20;
        data.ack_request = ack_request;
        data.retransmission = retransmission;
        qp.on_data(data, std::span{payload}.first(how.trimmed ? 0 : bytes), how, instant{1s});
    }
    struct said {
        unsigned acks = 0;
        unsigned sacks = 0;
        unsigned nacks = 0;
        std::uint8_t reason = 0;   // of the last NACK
        std::uint8_t syndrome = 0; // of the last Transport ACK
        packet_number cack = -1;   // of the last SACK
        unsigned out_of_order = 0;
    };
    said answers()
    {
        said all;
        while (const auto answer = qp.next_answer(instant{1s})) {
            if (const auto *sack = std::get_if<sack_packet>(&*answer)) {
                ++all.sacks;
                all.cack = psn_space{first}.number_of(sack->cack, 0);
                all.out_of_order = sack->ooo_count;
            } else if (const auto *nack = std::get_if<nack_packet>(&*answer)) {
                ++all.nacks;
                all.reason = nack->reason;
            } else {
                ++all.acks;
                all.syndrome = std::get<transport_ack_packet>(*answer).syndrome;
            }
        }
        return all;
    }

    std::uint32_t bytes = payload_bytes;
    std::uint16_t rqmsn = 0;
    bool ack_request = false;
    bool retransmission = false;
    arrival how;
    std::array<std::byte, payload_bytes> payload{};
    sink memory;
    qp_counters counters;
    responder qp{towards(), memory, counters};
};

TEST(state_tables, acceptance_of_packets)
{
    struct row {
        const char *packet;
        void (*act)(receiver &);
        unsigned writes, acks, sacks;
        int reason;            // of a NACK; 0: none
        packet_number cack;    // afterwards
        unsigned out_of_order; // afterwards
        std::uint64_t qp_counters::*counted;
    };
    using c = qp_counters;
    const std::vector<row> table{
        {"next", [](receiver &r) { r.receive(2); }, 1, 0, 0, 0, 2, 1, &c::rx_packets},
        {"next, and it ends its message", [](receiver &r) { r.receive(2, MRC_OP_WRITE_LAST); }, 1, 1, 0, 0, 2, 1,
         &c::rx_packets},
        {"ahead", [](receiver &r) { r.receive(4); }, 1, 0, 0, 0, 1, 2, &c::rx_packets},
        {"ahead, and it ends its message", [](receiver &r) { r.receive(4, MRC_OP_WRITE_LAST); }, 1, 0, 0, 0, 1, 2,
         &c::rx_packets},
        {"last of the window", [](receiver &r) { r.receive(129); }, 1, 0, 0, 0, 1, 2, &c::rx_packets},
        {"first beyond", [](receiver &r) { r.receive(130); }, 0, 0, 0, MRC_NACK_PSN_OOR_WINDOW, 1, 1,
         &c::rx_out_of_window},
        {"marked", [](receiver &r) { r.receive(5); }, 0, 0, 1, 0, 1, 1, &c::rx_duplicates},
        {"below the edge", [](receiver &r) { r.receive(1); }, 0, 1, 1, 0, 1, 1, &c::rx_duplicates},
        {"before the first", [](receiver &r) { r.receive(-5); }, 0, 0, 0, 0, 1, 1, &c::rx_out_of_window},
        {"trimmed, new",
         [](receiver &r) {
             r.how.trimmed = true;
             r.receive(2);
         },
         0, 0, 0, MRC_NACK_TRIMMED, 1, 1, &c::rx_trimmed},
        {"trimmed at the last hop",
         [](receiver &r) {
             r.how.trimmed = r.how.trimmed_last_hop = true;
             r.receive(2);
         },
         0, 0, 0, MRC_NACK_TRIMMED_LASTHOP, 1, 1, &c::rx_trimmed},
        {"trimmed, marked",
         [](receiver &r) {
             r.how.trimmed = true;
             r.receive(5);
         },
         0, 0, 0, 0, 1, 1, &c::rx_trimmed},
        {"trimmed, below the edge",
         [](receiver &r) {
             r.how.trimmed = true;
             r.receive(1);
         },
         0, 0, 0, 0, 1, 1, &c::rx_trimmed},
        {"trimmed, beyond the window",
         [](receiver &r) {
             r.how.trimmed = true;
             r.receive(130);
         },
         0, 0, 0, 0, 1, 1, &c::rx_trimmed},
        {"memory is busy",
         [](receiver &r) {
             r.memory.busy = true;
             r.receive(2);
         },
         0, 0, 0, MRC_NACK_NO_PKT_BUFFER, 1, 1, &c::rx_busy},
        {"memory is busy, marked",
         [](receiver &r) {
             r.memory.busy = true;
             r.receive(5);
         },
         0, 0, 1, 0, 1, 1, &c::rx_duplicates},
        {"immediate, its receive request's place holds a completion",
         [](receiver &r) {
             (void)r.qp.post_receive(1);
             r.receive(2, MRC_OP_WRITE_LAST_IMM);
             (void)r.answers();
             r.memory.writes = 0;
             r.rqmsn = 1;
             r.receive(3, MRC_OP_WRITE_ONLY_IMM);
         },
         0, 0, 0, MRC_NACK_NO_RESOURCE, 2, 1, &c::rx_busy},
        {"wrong key, all before it is there", [](receiver &r) { r.receive(2, MRC_OP_WRITE_MIDDLE, 8); }, 0, 1, 0, 0, 2,
         1, &c::rx_refused},
        {"wrong key, something is missing", [](receiver &r) { r.receive(3, MRC_OP_WRITE_MIDDLE, 8); }, 0, 0, 0, 0, 1, 2,
         &c::rx_refused},
        {"behind a refusal",
         [](receiver &r) {
             r.receive(3, MRC_OP_WRITE_MIDDLE, 8);
             r.receive(4);
         },
         0, 0, 0, 0, 1, 3, &c::rx_refused},
        {"this end has failed",
         [](receiver &r) {
             r.qp.fail();
             r.receive(2);
         },
         0, 0, 0, MRC_NACK_UNEXP_EVENT, 1, 1, &c::rx_unexpected},
        {"this end has failed, marked",
         [](receiver &r) {
             r.qp.fail();
             r.receive(5);
         },
         0, 0, 1, 0, 1, 1, &c::rx_duplicates},
        {"this end has failed, below the edge",
         [](receiver &r) {
             r.qp.fail();
             r.receive(1);
         },
         0, 1, 1, 0, 1, 1, &c::rx_duplicates},
        {"contradicts itself", [](receiver &r) { r.receive(2, MRC_OP_ACKNOWLEDGE); }, 0, 0, 0, 0, 1, 1,
         &c::rx_malformed},
    };
    for (const row &each : table) {
        SCOPED_TRACE(each.packet);
        receiver one;
        const std::uint64_t before = one.counters.*each.counted;
        each.act(one);
        EXPECT_EQ(one.counters.*each.counted, before + 1);
        EXPECT_EQ(one.memory.writes, each.writes);
        const auto said = one.answers();
        EXPECT_EQ(said.acks, each.acks);
        EXPECT_EQ(said.sacks, each.sacks);
        EXPECT_EQ(said.nacks, each.reason != 0 ? 1u : 0u);
        EXPECT_EQ(said.reason, each.reason);
        one.qp.on_probe({}, {});
        const auto now = one.answers();
        EXPECT_EQ(now.cack, each.cack);
        EXPECT_EQ(now.out_of_order, each.out_of_order);
    }
}

TEST(state_tables, sack_triggers)
{
    struct row {
        const char *trigger;
        void (*act)(receiver &);
        unsigned sacks;
    };
    constexpr auto several = [](receiver &r, packet_number count) {
        for (packet_number number = 6; number < 6 + count; ++number)
            r.receive(number);
    };
    static constexpr auto receive = several;
    // Three packets of 1 KiB have been counted.
    const std::vector<row> table{
        {"one packet", [](receiver &r) { receive(r, 1); }, 0},
        {"16 KiB", [](receiver &r) { receive(r, 13); }, 0},
        {"more than 16 KiB", [](receiver &r) { receive(r, 14); }, 1},
        {"twice that", [](receiver &r) { receive(r, 14 + 17); }, 2},
        {"AckReq, three times on a path before one could leave",
         [](receiver &r) {
             r.ack_request = true;
             receive(r, 3);
         },
         1},
        {"small packets count 1 KiB each",
         [](receiver &r) {
             r.bytes = 1;
             receive(r, 14);
         },
         1},
        {"AckReq",
         [](receiver &r) {
             r.ack_request = true;
             receive(r, 1);
         },
         1},
        {"CE",
         [](receiver &r) {
             r.how.congestion_experienced = true;
             receive(r, 1);
         },
         1},
        {"rtx",
         [](receiver &r) {
             r.retransmission = true;
             receive(r, 1);
         },
         1},
        {"duplicate", [](receiver &r) { r.receive(5); }, 1},
        {"probe", [](receiver &r) { r.qp.on_probe({}, {}); }, 1},
        {"any SACK begins anew",
         [](receiver &r) {
             r.receive(5);
             receive(r, 16);
         },
         1},
        {"a probe does not",
         [](receiver &r) {
             r.qp.on_probe({}, {});
             receive(r, 14);
         },
         2},
    };
    for (const row &each : table) {
        SCOPED_TRACE(each.trigger);
        receiver one;
        each.act(one);
        EXPECT_EQ(one.answers().sacks, each.sacks);
    }
}

// ---- qp_state.h, through a QP: the table itself is walked in qp_state_test.cpp.

TEST(state_tables, queue_pair_states)
{
    using enum qp_state;
    constexpr std::array events{
        qp_event::to_init, qp_event::to_ready_to_receive, qp_event::to_ready_to_send, qp_event::drain, qp_event::fail,
        qp_event::reset};
    struct may {
        bool send, post_receive, receive;
    };
    constexpr std::array<may, 6> allowed{{{false, false, false},
                                          {false, true, false},
                                          {false, true, true},
                                          {true, true, true},
                                          {true, true, true},
                                          {false, false, true}}};
    for (const qp_state from : {reset, init, ready_to_receive, ready_to_send, send_queue_drained, error})
        for (const qp_event event : events) {
            SCOPED_TRACE(std::to_string(static_cast<int>(from)) + " event " + std::to_string(static_cast<int>(event)));
            const local_ports local{plane_mask{1}};
            path_group paths{fabric(1), local};
            sink memory;
            fixed_window control{1 << 20};
            const bool by_event = from == send_queue_drained || from == error;
            queue_pair qp{towards(by_event ? ready_to_send : from), {paths, memory, control}};
            if (by_event) {
                ASSERT_TRUE(qp.modify(from == error ? qp_event::fail : qp_event::drain));
            }
            const auto next = event == qp_event::reset ? std::nullopt : next_state(from, event); // a new QP instead
            EXPECT_EQ(qp.modify(event), next.has_value());
            EXPECT_EQ(qp.state(), next.value_or(from));
            const may &expected = allowed[static_cast<std::size_t>(qp.state())];
            const instant now{1s};
            EXPECT_EQ(qp.post_write({.id = 1, .source = {}, .remote_va = 0, .rkey = 7}, now).has_value(),
                      expected.send);
            EXPECT_EQ(qp.post_receive(1).has_value(), expected.post_receive);
            qp.on_packet(probe_packet{}, {}, {}, now);
            EXPECT_EQ(qp.counters().rx_wrong_state, expected.receive ? 0u : 1u);
            unsigned written = 0;
            while (const auto packet = qp.next_packet(now))
                written += std::holds_alternative<data_packet>(packet->content) ? 1 : 0;
            EXPECT_EQ(written, qp.state() == ready_to_send ? 1u : 0u) << "SQD starts nothing";
        }
}

} // namespace
} // namespace mrc::protocol
