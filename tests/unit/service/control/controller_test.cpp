// SPDX-License-Identifier: Apache-2.0
#include "service/control/controller.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>

#include <gtest/gtest.h>

#include "mrc_ctl.h"
#include "service/control/controller_answer.h"

namespace mrc::service::control
{
namespace
{

// What the client passes on without a change, and the numbers of the two sides.
static_assert(sizeof(session::ev_entry) == sizeof(mrc_ctl_ev_op_entry));
static_assert(offsetof(session::ev_entry, replacement) == offsetof(mrc_ctl_ev_op_entry, ev_new));
static_assert(offsetof(session::ev_entry, state) == offsetof(mrc_ctl_ev_op_entry, state));
static_assert(sizeof(mrc_ev_field) == sizeof(mrc_ctl_ev_field));
static_assert(offsetof(mrc_ev_field, mask) == offsetof(mrc_ctl_ev_field, mask));
static_assert(sizeof(session::nscc_values) == sizeof(mrc_ctl_cc_nscc_cfg));
static_assert(offsetof(session::nscc_values, max_cwnd) == offsetof(mrc_ctl_cc_nscc_cfg, max_cwnd));
static_assert(offsetof(session::nscc_values, target_delay) == offsetof(mrc_ctl_cc_nscc_cfg, target_delay));
static_assert(sizeof(session::ev_event) == sizeof(mrc_ctl_ev_event));
static_assert(offsetof(session::ev_event, state) == offsetof(mrc_ctl_ev_event, state));
static_assert(sizeof(session::ep_request) == sizeof(mrc_ctl_ep_req));
static_assert(offsetof(session::ep_request, destination) == offsetof(mrc_ctl_ep_req, dgid));
static_assert(offsetof(session::ep_request, ev) == offsetof(mrc_ctl_ep_req, req_ev));
static_assert(sizeof(session::ep_response) == sizeof(mrc_ctl_ep_rsp));
static_assert(offsetof(session::ep_response, service_time) == offsetof(mrc_ctl_ep_rsp, adj_svc_time));
static_assert(static_cast<int>(session::ev_operation::query_array) == MRC_CTL_EV_OP_QUERY_EV_ARRAY);
static_assert(static_cast<int>(session::ev_fields_operation::query_fields) == MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS);
static_assert(static_cast<int>(session::ev_format_operation::query_fields) == MRC_CTL_EV_FMT_OP_QUERY_FIELDS);
static_assert(static_cast<int>(session::profile_state::online) == MRC_CTL_PROFILE_ONLINE);
static_assert(static_cast<int>(session::ev_format_mode::udp) == MRC_CTL_EV_FMT_MODE_UDP);
static_assert(static_cast<int>(session::ev_mode::generated) == MRC_CTL_EV_MODE_GEN);
static_assert(static_cast<int>(session::ev_state::denied) == MRC_CTL_EV_DENIED);
static_assert(static_cast<int>(session::ev_profile_has_fields) == MRC_CTL_EV_PROFILE_EV_FIELDS_OP);
static_assert(static_cast<int>(session::cc_profile_has_config) == MRC_CTL_CC_PROFILE_CONFIG);
static_assert(static_cast<int>(session::ev_format_has_operation) == MRC_CTL_EV_FMT_PROFILE_OP);

constexpr std::uint64_t session = 3;
const fabric_shape fabric{.planes = 2, .uplinks = 256, .usids = usid_plan{}};

struct fake_host final : control_host {
    session::outcome<bool> port_enabled(unsigned port) override { return enabled[port]; }
    session::outcome<> enable_port(unsigned port, bool on) override
    {
        enabled[port] = on;
        return {};
    }
    void set_denied(std::uint64_t, std::span<const path_verdict> of) override
    {
        verdicts.insert(verdicts.end(), of.begin(), of.end());
    }
    void universe_changed(std::uint64_t) override {}
    void gone_offline(std::uint64_t) override {}
    void events_ready(std::uint64_t, std::uint64_t) override { ++ready; }
    session::outcome<> start_batch(ep_batch batch) override
    {
        batches.push_back(std::move(batch));
        return {};
    }

    std::map<unsigned, bool> enabled{{1, true}, {2, true}};
    std::vector<path_verdict> verdicts;
    std::vector<ep_batch> batches;
    unsigned ready = 0;
};

struct reply_with_array {
    session::control_reply head;
    std::vector<std::byte> array;
};

reply_with_array parse(const std::vector<std::byte> &bytes)
{
    reply_with_array reply;
    EXPECT_GE(bytes.size(), sizeof(reply.head));
    std::memcpy(static_cast<void *>(&reply.head), bytes.data(), sizeof(reply.head));
    reply.array.assign(bytes.begin() + sizeof(reply.head), bytes.end());
    return reply;
}

session::control_request request_for(session::control_kind kind, std::uint64_t id = 0, std::uint32_t mask = 0)
{
    session::control_request request;
    request.kind = kind;
    request.id = id;
    request.mask = mask;
    return request;
}

class controller_test : public testing::Test
{
protected:
    template <class T = std::byte>
    std::vector<std::byte> packet(session::control_request request, const std::vector<T> &array = {})
    {
        request.count = static_cast<std::uint32_t>(array.size());
        std::vector<std::byte> bytes(sizeof(request) + array.size() * sizeof(T));
        std::memcpy(bytes.data(), &request, sizeof(request));
        if (!array.empty())
            std::memcpy(bytes.data() + sizeof(request), array.data(), array.size() * sizeof(T));
        return bytes;
    }
    template <class T = std::byte>
    reply_with_array ask(const session::control_request &request, const std::vector<T> &array = {})
    {
        const auto reply = control.handle(session, packet(request, array));
        EXPECT_TRUE(reply);
        return reply ? parse(*reply) : reply_with_array{};
    }
    void make_listed(std::uint64_t id, std::uint32_t count)
    {
        session::control_request request =
            request_for(session::control_kind::modify_ev_profile, id,
                        session::ev_profile_has_state | session::ev_profile_has_mode | session::ev_profile_has_format |
                            session::ev_profile_has_count);
        request.ev_profile = {
            .state = 1, .current = 0, .mode = 2, .count = count, .format = 0, .min_active = 0, .event_mask = 0};
        const auto reply = ask(request);
        EXPECT_EQ(reply.head.error, 0) << reply.head.text;
    }
    static session::ev_value ev_of(std::uint32_t number)
    {
        session::ev_value ev;
        for (unsigned byte = 0; byte < 4; ++byte)
            ev.bits.at(byte) = static_cast<std::uint8_t>(number >> (24 - 8 * byte));
        ev.port = static_cast<std::uint8_t>(mrc_ev_plane(number) + 1);
        return ev;
    }

    fake_host host;
    controller control{{}, fabric, {.nscc = true, .config = to_nscc_values(protocol::derive_nscc({}))}, host};
};

TEST_F(controller_test, describes_the_device)
{
    make_listed(1, 4);
    const auto reply = ask(request_for(session::control_kind::query_device));
    EXPECT_EQ(reply.head.error, 0);
    EXPECT_EQ(reply.head.device.max_count, 65536U);
    EXPECT_EQ(reply.head.device.free_count, 65532U);
    EXPECT_EQ(reply.head.device.count_align, 2U);
    EXPECT_EQ(reply.head.device.phy_port_mask, 6U);
    EXPECT_EQ(reply.head.device.options, 1U | 4U | 16U | 32U) << "EVs of an ONLINE profile may change";
    EXPECT_EQ(std::string_view{reply.head.device.algorithm}, "uet-1.0-nscc");
}

TEST_F(controller_test, ports_are_one_based)
{
    session::control_request request = request_for(session::control_kind::modify_port, 2, 1);
    EXPECT_EQ(ask(request).head.error, 0);
    EXPECT_FALSE(host.enabled[2]);
    EXPECT_EQ(ask(request_for(session::control_kind::query_port, 2, 1)).head.port.enabled, 0U);
    EXPECT_EQ(ask(request_for(session::control_kind::query_port, 1, 1)).head.port.enabled, 1U);
    EXPECT_EQ(ask(request_for(session::control_kind::query_port, 0, 1)).head.error, EINVAL);
    EXPECT_EQ(ask(request_for(session::control_kind::query_port, 3, 1)).head.error, EINVAL);
    EXPECT_EQ(ask(request_for(session::control_kind::query_port, 1, 2)).head.error, EINVAL);
    request.port.enabled = 2;
    EXPECT_EQ(ask(request).head.error, EINVAL);
}

TEST_F(controller_test, formats_are_set_and_read)
{
    session::control_request request =
        request_for(session::control_kind::modify_ev_format, 13,
                    session::ev_format_has_state | session::ev_format_has_mode | session::ev_format_has_operation);
    request.ev_format = {.state = 1, .current = 0, .mode = 1, .reserved = 0};
    EXPECT_EQ(ask(request, std::vector<std::uint8_t>{8, 4, 4}).head.error, 0);
    session::control_request query =
        request_for(session::control_kind::query_ev_format, 13, session::ev_format_attributes);
    query.operation = static_cast<std::uint32_t>(session::ev_format_operation::query_fields);
    query.capacity = 2;
    const auto short_array = ask(query);
    EXPECT_EQ(short_array.head.error, E2BIG);
    EXPECT_EQ(short_array.head.total, 3U);
    query.capacity = 3;
    const auto reply = ask(query);
    EXPECT_EQ(reply.head.error, 0);
    EXPECT_EQ(reply.head.ev_format.state, 1U);
    EXPECT_EQ(reply.array, (std::vector<std::byte>{std::byte{8}, std::byte{4}, std::byte{4}}));
    query.operation = 0; // MODIFY_FIELDS
    EXPECT_EQ(ask(query).head.error, EINVAL);
    query.mask = 1U << 31; // vendor configuration
    EXPECT_EQ(ask(query).head.error, EINVAL);
    request.operation = 2;
    EXPECT_EQ(ask(request).head.error, EINVAL);
}

TEST_F(controller_test, modify_calls_may_query_too)
{
    session::control_request request =
        request_for(session::control_kind::modify_ev_format, 0, session::ev_format_has_operation);
    request.operation = static_cast<std::uint32_t>(session::ev_format_operation::query_fields);
    request.capacity = 16;
    EXPECT_EQ(ask(request).head.count, 3U);
    request = request_for(session::control_kind::modify_ev_profile, 0, session::ev_profile_has_fields);
    request.operation = static_cast<std::uint32_t>(session::ev_fields_operation::query_fields);
    request.capacity = 16;
    EXPECT_EQ(ask(request).head.count, 3U);
    request.mask = session::ev_profile_has_evs;
    request.operation = static_cast<std::uint32_t>(session::ev_operation::query_array);
    request.capacity = 512;
    EXPECT_EQ(ask(request).head.count, session::most_entries);
}

TEST_F(controller_test, in_init_there_is_only_the_state)
{
    EXPECT_EQ(
        ask(request_for(session::control_kind::query_ev_format, 9, session::ev_format_has_state)).head.ev_format.state,
        0U);
    EXPECT_EQ(ask(request_for(session::control_kind::query_ev_format, 9, session::ev_format_has_mode)).head.error,
              EINVAL);
    EXPECT_EQ(ask(request_for(session::control_kind::query_ev_profile, 9, session::ev_profile_has_current)).head.error,
              0);
    for (std::uint32_t bit = session::ev_profile_has_mode; bit <= session::ev_profile_has_fields; bit <<= 1U)
        EXPECT_EQ(ask(request_for(session::control_kind::query_ev_profile, 9, bit)).head.error, EINVAL) << bit;
    EXPECT_EQ(ask(request_for(session::control_kind::query_cc_profile, 9, session::cc_profile_has_state)).head.error,
              0);
    EXPECT_EQ(ask(request_for(session::control_kind::query_cc_profile, 9, session::cc_profile_has_config)).head.error,
              EINVAL);
}

TEST_F(controller_test, entries_are_counted_until_the_first_that_fails)
{
    make_listed(1, 4);
    session::control_request request =
        request_for(session::control_kind::modify_ev_profile, 1, session::ev_profile_has_evs);
    request.operation = static_cast<std::uint32_t>(session::ev_operation::replace);
    const auto fill = [&](std::uint32_t number) {
        return session::ev_entry{.subject = {}, .replacement = ev_of(number), .state = 1};
    };
    const auto reply = ask(request, std::vector<session::ev_entry>{fill(0x800), fill(0x801), fill(0), {}});
    EXPECT_EQ(reply.head.error, EINVAL); // the last has no state
    EXPECT_EQ(reply.head.done, 3U);
    EXPECT_TRUE(std::string_view{reply.head.text}.starts_with("entry 3: found state 0x0")) << reply.head.text;

    session::control_request query =
        request_for(session::control_kind::query_ev_profile, 1, session::ev_profile_has_evs);
    query.operation = static_cast<std::uint32_t>(session::ev_operation::query_state);
    const auto states = ask(query, std::vector<session::ev_entry>{{ev_of(0x801), {}}, {ev_of(0x809), {}}});
    EXPECT_EQ(states.head.error, ENOENT);
    EXPECT_EQ(states.head.done, 1U);
    EXPECT_EQ(elements_of<session::ev_entry>(states.array).at(0).state, 1U);
}

TEST_F(controller_test, long_arrays_come_in_pieces)
{
    session::control_request query =
        request_for(session::control_kind::query_ev_profile, 0,
                    session::ev_profile_has_evs | session::ev_profile_has_state | session::ev_profile_has_count);
    query.operation = static_cast<std::uint32_t>(session::ev_operation::query_array);
    query.capacity = 511;
    EXPECT_EQ(ask(query).head.error, E2BIG);
    query.capacity = 512;
    std::vector<session::ev_entry> all;
    for (std::uint32_t total = 1; query.first < total; query.first += session::most_entries) {
        const auto reply = ask(query);
        ASSERT_EQ(reply.head.error, 0) << reply.head.text;
        EXPECT_EQ(reply.head.ev_profile.count, 512U);
        total = reply.head.total;
        const auto piece = elements_of<session::ev_entry>(reply.array);
        all.insert(all.end(), piece.begin(), piece.end());
    }
    ASSERT_EQ(all.size(), 512U);
    EXPECT_EQ(all[511].subject, ev_of(mrc_ev_make(1, 255, 0)));
    query.first = 4'000'000'000U;
    EXPECT_EQ(ask(query).head.count, 0U);
}

TEST_F(controller_test, ev_operations_exclude_each_other)
{
    for (const session::control_kind kind :
         {session::control_kind::modify_ev_profile, session::control_kind::query_ev_profile})
        EXPECT_EQ(ask(request_for(kind, 0, session::ev_profile_has_evs | session::ev_profile_has_fields)).head.error,
                  EINVAL);
    session::control_request query =
        request_for(session::control_kind::query_ev_profile, 0, session::ev_profile_has_evs);
    EXPECT_EQ(ask(query).head.error, EINVAL); // REPLACE
    query.operation = 4;
    EXPECT_EQ(ask(query).head.error, EINVAL);
    query.mask = session::ev_profile_has_fields;
    query.operation = 0; // MODIFY_FIELDS
    EXPECT_EQ(ask(query).head.error, EINVAL);
    EXPECT_EQ(ask(request_for(session::control_kind::modify_ev_profile, 0, 1U << 9)).head.error, EINVAL);
}

TEST_F(controller_test, cc_profiles_are_set_and_read)
{
    session::control_request request =
        request_for(session::control_kind::modify_cc_profile, 5,
                    session::cc_profile_has_state | session::cc_profile_has_algorithm | session::cc_profile_has_config);
    request.cc_profile = {.state = 1,
                          .current = 0,
                          .algorithm = "uet-1.0-nscc",
                          .config = to_nscc_values(protocol::derive_nscc({})),
                          .reserved = 0};
    request.cc_profile.config.qa_gate = 9;
    EXPECT_EQ(ask(request).head.error, 0);
    const auto reply = ask(request_for(session::control_kind::query_cc_profile, 5, session::cc_profile_attributes));
    EXPECT_EQ(reply.head.cc_profile.config, request.cc_profile.config);
    EXPECT_EQ(std::string_view{reply.head.cc_profile.algorithm}, "uet-1.0-nscc");
    std::ranges::fill(request.cc_profile.algorithm, 'x'); // no zero byte
    EXPECT_EQ(ask(request).head.error, EINVAL);
    EXPECT_EQ(ask(request_for(session::control_kind::query_cc_profile, 0, session::cc_profile_attributes)).head.error,
              0);
}

TEST_F(controller_test, lists_profiles)
{
    make_listed(77, 2);
    session::control_request request = request_for(session::control_kind::list_profiles);
    request.operation = static_cast<std::uint32_t>(session::profile_list::ev_profiles);
    request.capacity = 10;
    EXPECT_EQ(elements_of<std::uint64_t>(ask(request).array), (std::vector<std::uint64_t>{0, 77}));
    request.operation = 3;
    EXPECT_EQ(ask(request).head.error, EINVAL);
}

TEST_F(controller_test, events_wait_per_subscriber)
{
    session::control_request mask =
        request_for(session::control_kind::modify_ev_profile, 0, session::ev_profile_has_event_mask);
    mask.ev_profile.event_mask = 3;
    ASSERT_EQ(ask(mask).head.error, 0);
    session::control_request request = request_for(session::control_kind::subscribe_events);
    EXPECT_EQ(ask(request).head.error, EINVAL);
    request.events.capacity = 2;
    const std::uint64_t first = ask(request).head.id;
    request.events.capacity = 100;
    const std::uint64_t second = ask(request).head.id;
    for (unsigned uplink = 0; uplink < 4; ++uplink)
        control.ev_profiles().observe(0, 1, {0, uplink}, protocol::path_state::assumed_bad);
    EXPECT_EQ(host.ready, 2U); // once for each
    session::control_request poll = request_for(session::control_kind::poll_events, first);
    poll.capacity = 1;
    EXPECT_EQ(ask(poll).head.total, 1U);
    poll.capacity = 100;
    EXPECT_EQ(ask(poll).head.count, 1U);
    control.ev_profiles().observe(0, 1, {0, 9}, protocol::path_state::assumed_bad);
    const auto events = elements_of<session::ev_event>(ask(poll).array);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].drop_count, 2U);
    poll.id = second;
    EXPECT_EQ(ask(poll).head.count, 5U);
    EXPECT_FALSE(control.handle(session + 1, packet(poll))->empty());
    EXPECT_EQ(parse(*control.handle(session + 1, packet(poll))).head.error, EINVAL); // another session's
    EXPECT_EQ(ask(request_for(session::control_kind::unsubscribe_events, first)).head.error, 0);
    EXPECT_EQ(ask(request_for(session::control_kind::unsubscribe_events, first)).head.error, EINVAL);
    control.end_session(session);
    EXPECT_EQ(ask(poll).head.error, EINVAL);
}

TEST_F(controller_test, batches_are_checked_and_answered_later)
{
    session::control_request request = request_for(session::control_kind::ep_batch);
    request.ep = {.operation = 0, .traffic_class = 46, .timeout_ns = 1000, .more = 0};
    session::ep_request probe;
    probe.id = 1;
    probe.format_mode = 1;
    probe.ev = ev_of(0x801);
    std::vector<session::ep_request> both{probe, probe};
    EXPECT_EQ(ask(request).head.error, EINVAL);       // none
    EXPECT_EQ(ask(request, both).head.error, EINVAL); // one id twice
    both[1].id = 2;
    EXPECT_FALSE(control.handle(session, packet(request, both)));
    ASSERT_EQ(host.batches.size(), 1U);
    EXPECT_EQ(host.batches[0].requests.size(), 2U);
    EXPECT_EQ(host.batches[0].traffic_class, 46U);
    both[1].ev.port = 3;
    EXPECT_EQ(ask(request, both).head.error, EINVAL);
    both[1].ev.port = 1;
    both[1].format_mode = 3;
    EXPECT_EQ(ask(request, both).head.error, EINVAL);
    request.ep.traffic_class = 64;
    EXPECT_EQ(ask(request, std::vector{probe}).head.error, EINVAL);
    request.ep.traffic_class = 0;
    request.ep.operation = 2;
    EXPECT_EQ(ask(request, std::vector{probe}).head.error, EINVAL);

    session::ep_response response;
    response.id = 2;
    response.rtt_ns = 7000;
    const auto late =
        parse(controller::ep_reply(std::unexpected{session::refusal{ETIMEDOUT, "late"}}, std::span{&response, 1}));
    EXPECT_EQ(late.head.error, ETIMEDOUT);
    EXPECT_EQ(elements_of<session::ep_response>(late.array).at(0).rtt_ns, 7000U);
}

TEST_F(controller_test, batches_come_in_several_packets)
{
    session::control_request request = request_for(session::control_kind::ep_batch);
    request.ep = {.operation = 0, .traffic_class = 0, .timeout_ns = 1000, .more = 1};
    std::vector<session::ep_request> piece(session::most_ep_requests);
    const auto fill = [&](unsigned number) {
        for (unsigned i = 0; i < piece.size(); ++i) {
            piece[i].id = static_cast<std::uint16_t>(number * session::most_ep_requests + i);
            piece[i].format_mode = 1;
            piece[i].ev = ev_of(0x801);
        }
    };
    constexpr unsigned pieces = session::most_batch_requests / session::most_ep_requests;
    for (unsigned number = 0; number < pieces; ++number) {
        fill(number);
        request.ep.more = number + 1 < pieces ? 1 : 0;
        const auto reply = control.handle(session, packet(request, piece));
        EXPECT_EQ(reply.has_value(), request.ep.more != 0);
        if (reply) {
            EXPECT_EQ(parse(*reply).head.error, 0);
        }
    }
    ASSERT_EQ(host.batches.size(), 1U);
    ASSERT_EQ(host.batches[0].requests.size(), session::most_batch_requests);
    EXPECT_EQ(host.batches[0].requests.back().id, session::most_batch_requests - 1);

    // Whatever ends it, the next batch begins anew: too many, one id twice, the session's end.
    request.ep.more = 1;
    for (unsigned number = 0; number < pieces; ++number) {
        fill(number);
        EXPECT_EQ(ask(request, piece).head.error, 0);
    }
    EXPECT_EQ(ask(request, std::vector{piece[0]}).head.error, EINVAL);
    fill(0);
    EXPECT_EQ(ask(request, piece).head.error, 0);
    request.ep.more = 0;
    EXPECT_EQ(ask(request, std::vector{piece[0]}).head.error, EINVAL);
    request.ep.more = 1;
    EXPECT_EQ(ask(request, piece).head.error, 0);
    control.end_session(session);
    request.ep.more = 0;
    EXPECT_FALSE(control.handle(session, packet(request, std::vector{piece[0]})));
    EXPECT_EQ(host.batches.back().requests.size(), 1U);
}

TEST_F(controller_test, refuses_packets_that_lie_about_their_length)
{
    session::control_request request =
        request_for(session::control_kind::modify_ev_profile, 0, session::ev_profile_has_evs);
    const auto whole = packet(request, std::vector<session::ev_entry>(3));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_EQ(parse(*control.handle(session, std::span{whole}.first(size))).head.error, EINVAL) << size;
    request.count = session::most_entries + 1;
    std::vector<std::byte> many(sizeof(request));
    std::memcpy(many.data(), &request, sizeof(request));
    EXPECT_EQ(parse(*control.handle(session, many)).head.error, E2BIG);
    request = request_for(session::control_kind::query_device);
    EXPECT_EQ(ask(request, std::vector<std::byte>(1)).head.error, E2BIG); // takes no array
    request.version = 2;
    EXPECT_EQ(ask(request).head.error, EPROTO);
    EXPECT_EQ(ask(request_for(static_cast<session::control_kind>(0x1000))).head.error, EOPNOTSUPP);
    EXPECT_EQ(ask(request_for(static_cast<session::control_kind>(1))).head.error, EOPNOTSUPP);
}

} // namespace
} // namespace mrc::service::control
