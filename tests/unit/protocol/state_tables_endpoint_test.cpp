// SPDX-License-Identifier: Apache-2.0
// The state table of a controller's endpoint requests, walked: every event in every state.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "protocol/paths/endpoint_batches.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;
using enum request_state;

constexpr auto patience = 10ms;
constexpr auto answered_after = 20us;

path_group_config two_planes()
{
    path_group_config config;
    config.planes = 2;
    config.uplinks = 2;
    config.base = path_index{1};
    return config;
}

// One request, on its way through the states.
struct one_request {
    explicit one_request(std::uint8_t operation)
    {
        batch.operation = operation;
        batch.patience = patience;
        batch.requests.push_back({.host = &host, .path = paths.path(2), .ports = plane_mask{0b10}});
        EXPECT_TRUE(batches.start(batch));
    }
    [[nodiscard]] const endpoint_request &request() const { return batch.requests[0]; }
    // Packets that are sent now.
    unsigned serve()
    {
        unsigned packets = 0;
        while (batches.next_packet(now))
            ++packets;
        (void)batches.next_finished(now);
        return packets;
    }
    bool answer(const port_status &from, instant at, int ticks = 0)
    {
        arrival how;
        how.at = at;
        how.path = request().path.index;
        const auto stamp = static_cast<std::uint16_t>(wire_timestamp(request().sent_at[0]) + ticks);
        const std::uint16_t id = request().request_id == 0 ? batch_probe_ids.first : request().request_id;
        return batches.on_response(from, {id, batch.operation, stamp}, how);
    }
    void bring_to(request_state state)
    {
        if (state == waiting)
            return;
        EXPECT_EQ(serve(), 1u);
        now += state == timed_out ? duration{patience} : duration{answered_after};
        if (state == answered) {
            EXPECT_TRUE(answer(host, now));
        }
        if (state != asked)
            (void)serve();
        EXPECT_EQ(request().state, state);
    }

    instant now{10s};
    local_ports local{plane_mask{0b11}};
    path_group paths{two_planes(), local};
    port_status host{{}, paths};
    port_status other_host{{}, paths};
    endpoint_batches batches{{.burst = 3}};
    endpoint_batch batch;
};

TEST(state_tables, requests_of_a_controller)
{
    struct outcome {
        request_state next;
        unsigned packets; // sent by an update; a probe is sent once
    };
    struct row {
        const char *event;
        unsigned (*act)(one_request &);  // packets sent
        std::array<outcome, 4> by_state; // waiting, asked, answered, timed out
    };
    static constexpr std::array states{waiting, asked, answered, timed_out};
    static const std::array table{
        row{"its turn",
            [](one_request &r) { return r.serve(); },
            {{{asked, 1}, {asked, 0}, {answered, 0}, {timed_out, 0}}}},
        row{"its turn, but by a port out of use",
            [](one_request &r) {
                r.local.up = plane_mask{0b01};
                return r.serve();
            },
            {{{asked, 0}, {asked, 0}, {answered, 0}, {timed_out, 0}}}},
        row{"retry has passed",
            [](one_request &r) {
                r.now += 1ms;
                return r.serve();
            },
            {{{asked, 1}, {asked, 1}, {answered, 0}, {timed_out, 0}}}},
        row{"retry has passed, again and again",
            [](one_request &r) {
                unsigned packets = r.serve();
                for (int i = 0; i < 5; ++i) {
                    r.now += 1ms;
                    packets += r.serve();
                }
                return packets;
            },
            {{{asked, 3}, {asked, 2}, {answered, 0}, {timed_out, 0}}}},
        row{"the answer",
            [](one_request &r) {
                const bool awaited = r.request().state == asked;
                EXPECT_EQ(r.answer(r.host, r.now), awaited);
                return r.serve();
            },
            {{{asked, 1}, {answered, 0}, {answered, 0}, {timed_out, 0}}}},
        row{"the answer of another host",
            [](one_request &r) {
                EXPECT_FALSE(r.answer(r.other_host, r.now));
                return r.serve();
            },
            {{{asked, 1}, {asked, 0}, {answered, 0}, {timed_out, 0}}}},
        row{"an answer with a stamp of before",
            [](one_request &r) {
                EXPECT_FALSE(r.answer(r.host, r.now, -1));
                return r.serve();
            },
            {{{asked, 1}, {asked, 0}, {answered, 0}, {timed_out, 0}}}},
        row{"patience has passed",
            [](one_request &r) {
                r.now += patience;
                EXPECT_FALSE(r.answer(r.host, r.now));
                return r.serve();
            },
            {{{asked, 1}, {timed_out, 0}, {answered, 0}, {timed_out, 0}}}},
    };
    for (const row &each : table)
        for (const std::uint8_t operation : {MRC_EP_EV_PROBE, MRC_EP_PORT_STATUS_UPDATE})
            for (std::size_t i = 0; i < states.size(); ++i) {
                SCOPED_TRACE(std::string{each.event} + ", operation " + std::to_string(operation) + ", state " +
                             std::to_string(i));
                one_request one{operation};
                one.bring_to(states[i]);
                const unsigned packets = each.act(one);
                EXPECT_EQ(one.request().state, each.by_state[i].next);
                const bool once = operation == MRC_EP_EV_PROBE;
                const unsigned most = once && states[i] != waiting ? 0 : once ? 1 : 3;
                EXPECT_EQ(packets, std::min(each.by_state[i].packets, most));
            }
}

// Its batch goes: from then on no answer is its.
TEST(state_tables, requests_whose_controller_has_gone)
{
    for (const request_state state : {waiting, asked, answered, timed_out}) {
        one_request one{MRC_EP_EV_PROBE};
        one.bring_to(state);
        one.batches.cancel(one.batch);
        EXPECT_FALSE(one.answer(one.host, one.now));
        EXPECT_EQ(one.serve(), 0u);
        EXPECT_TRUE(one.batches.idle());
        EXPECT_EQ(one.batches.next_deadline(), never);
    }
}

} // namespace
} // namespace mrc::protocol
