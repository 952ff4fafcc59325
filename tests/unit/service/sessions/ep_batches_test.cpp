// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/ep_batches.h"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "session/control_protocol.h"
#include "unit/service/daemon_in_memory.h"

namespace mrc::service
{
namespace
{

struct decoded_reply {
    session::control_reply head;
    std::vector<session::ep_response> responses;
};

decoded_reply decode(const std::vector<std::byte> &bytes)
{
    decoded_reply reply;
    std::memcpy(static_cast<void *>(&reply.head), bytes.data(), sizeof(reply.head));
    reply.responses.resize((bytes.size() - sizeof(reply.head)) / sizeof(session::ep_response));
    if (!reply.responses.empty())
        std::memcpy(reply.responses.data(), bytes.data() + sizeof(reply.head),
                    reply.responses.size() * sizeof(session::ep_response));
    return reply;
}

class ep_batches_test : public testing::Test
{
protected:
    void SetUp() override { ASSERT_TRUE(b_.resources().peers.hold(a_.address())); } // it answers peers only

    // A probe by port 1 and this uplink to the other daemon's host.
    [[nodiscard]] session::ep_request probe(std::uint16_t id, std::uint32_t uplink = 0) const
    {
        session::ep_request request;
        request.id = id;
        request.destination = b_.address();
        request.format_mode = static_cast<std::uint32_t>(session::ev_format_mode::stev);
        const std::uint32_t number = mrc_ev_make(0, uplink, 5);
        for (unsigned byte = 0; byte < 4; ++byte)
            request.ev.bits[byte] = static_cast<std::uint8_t>(number >> (24 - 8 * byte));
        request.ev.port = 1;
        return request;
    }
    [[nodiscard]] static control::ep_batch batch(std::uint64_t session, std::vector<session::ep_request> requests,
                                                 std::uint32_t timeout_ns = 1'000'000'000)
    {
        return {.session = session, .timeout_ns = timeout_ns, .requests = std::move(requests)};
    }
    [[nodiscard]] std::optional<ep_batches::finished> finished()
    {
        std::optional<ep_batches::finished> over;
        for (int rounds = 0; rounds < 10'000 && !over; ++rounds) {
            test::run(a_, b_, 1);
            over = batches_.take_finished();
        }
        return over;
    }
    static int error_of(const session::outcome<> &result) { return result ? 0 : result.error().code; }

    test::daemon_in_memory a_{0};
    test::daemon_in_memory b_{1};
    session_resources here_ = a_.resources();
    ep_batches batches_{here_.rules, [this](const mrc_ip &address) { return here_.peers.hold(address); },
                        here_.workers};
};

TEST_F(ep_batches_test, answers_come_with_the_ids_of_their_requests)
{
    ASSERT_EQ(error_of(batches_.start(batch(7, {probe(40), probe(41, 1)}))), 0);
    const auto over = finished();
    ASSERT_TRUE(over);
    EXPECT_EQ(over->session, 7U);
    const decoded_reply reply = decode(over->reply);
    EXPECT_EQ(reply.head.error, 0) << reply.head.text;
    ASSERT_EQ(reply.responses.size(), 2U);
    EXPECT_EQ(reply.responses[0].id + reply.responses[1].id, 81);
    EXPECT_EQ(reply.responses[0].port, 1);
    EXPECT_FALSE(batches_.take_finished()) << "once";
}

TEST_F(ep_batches_test, hosts_that_are_asked_are_held_until_the_batch_is_over)
{
    ASSERT_EQ(error_of(batches_.start(batch(7, {probe(1), probe(2)}))), 0);
    EXPECT_TRUE(here_.peers.release_unused(true).peers.empty());
    ASSERT_TRUE(finished());
    EXPECT_EQ(here_.peers.release_unused(true).peers.size(), 1U);
}

TEST_F(ep_batches_test, a_session_has_one_batch_under_way)
{
    ASSERT_EQ(error_of(batches_.start(batch(7, {probe(1)}))), 0);
    EXPECT_EQ(error_of(batches_.start(batch(7, {probe(2)}))), EAGAIN);
    EXPECT_EQ(error_of(batches_.start(batch(8, {probe(3)}))), 0) << "another session's";
    batches_.end_session(7);
    EXPECT_EQ(error_of(batches_.start(batch(7, {probe(4)}))), 0);
}

TEST_F(ep_batches_test, what_cannot_be_sent_is_named_and_the_others_are_sent)
{
    session::ep_request elsewhere = probe(2);
    elsewhere.destination.bytes[0] = 0xfe;
    session::ep_request wrong_port = probe(3);
    wrong_port.ev.port = 2;
    session::ep_request wrong_uplink = probe(4, 7);
    session::ep_request wrong_source = probe(5);
    wrong_source.source = b_.address();
    for (const auto &wrong : {elsewhere, wrong_port, wrong_uplink, wrong_source}) {
        EXPECT_EQ(error_of(batches_.start(batch(7, {wrong}))), EINVAL);
        ASSERT_EQ(error_of(batches_.start(batch(7, {wrong, probe(60)}))), 0);
        const auto over = finished();
        ASSERT_TRUE(over);
        const decoded_reply reply = decode(over->reply);
        EXPECT_EQ(reply.head.error, EINVAL);
        EXPECT_EQ(std::string{reply.head.text}.find("request " + std::to_string(wrong.id)), 0U) << reply.head.text;
        ASSERT_EQ(reply.responses.size(), 1U);
        EXPECT_EQ(reply.responses[0].id, 60);
    }
}

TEST_F(ep_batches_test, requests_that_nobody_answers_time_out)
{
    ASSERT_EQ(error_of(batches_.start(batch(7, {probe(1)}, 1))), 0); // a nanosecond
    const auto over = finished();
    ASSERT_TRUE(over);
    const decoded_reply reply = decode(over->reply);
    EXPECT_EQ(reply.head.error, ETIMEDOUT);
    EXPECT_TRUE(reply.responses.empty());
}

} // namespace
} // namespace mrc::service
