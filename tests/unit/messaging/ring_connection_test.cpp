// SPDX-License-Identifier: Apache-2.0
// Two connections in one process: WRITEs copy memory when the test lets them, in order, as queue pairs do.
#include "messaging/ring_connection.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::messaging
{
namespace
{

constexpr ring_shape usual{.slots = 8, .slot_bytes = 256};

class end : public write_port, public connection_listener
{
public:
    explicit end(const ring_shape &shape)
        : shape_{shape}, ring_(shape.bytes()), staging_(shape.bytes()),
          connection{*this, shape, {.ring = ring_, .staging = staging_, .lkey = 1}, *this}
    {
        EXPECT_TRUE(connection.prepare());
    }

    void connect(end &other)
    {
        peer_ = &other;
        connection.start(other.shape_, reinterpret_cast<std::uintptr_t>(other.ring_.data()), 2);
    }

    int post_write(const write_order &order) override
    {
        if (refuse)
            return EIO;
        under_way_.push_back(order);
        EXPECT_LE(under_way_.size(), shape_.sends()) << "more than the send queue holds";
        return 0;
    }
    int post_receive() override
    {
        ++receives_;
        EXPECT_LE(receives_, shape_.receives());
        return 0;
    }
    void abandon() override { abandoned = true; }

    void on_connected() override { greeted = true; }
    void on_message(std::span<const std::byte> message) override
    {
        messages.emplace_back(reinterpret_cast<const char *>(message.data()), message.size());
    }
    void on_arrival(std::uint32_t value, std::uint64_t bytes) override { arrivals.emplace_back(value, bytes); }
    void on_closed() override { closed = true; }
    void on_failure(const std::string &why) override { failure = why; }
    [[nodiscard]] bool waits() const override { return waiting; }

    // The oldest WRITE arrives, and is acknowledged. False: there is none.
    bool step()
    {
        if (under_way_.empty())
            return false;
        const write_order order = under_way_.front();
        under_way_.pop_front();
        if (order.bytes > 0)
            std::memcpy(reinterpret_cast<void *>(order.target), reinterpret_cast<const void *>(order.source),
                        order.bytes);
        if (order.imm) {
            EXPECT_GT(peer_->receives_, 0U) << "a WRITE with immediate finds no receive request";
            --peer_->receives_;
            peer_->connection.on_received(*order.imm, order.bytes);
        }
        connection.on_write_completed();
        return true;
    }

    void say(const std::string &text, ring_connection::done_function done = {})
    {
        connection.send(std::as_bytes(std::span{text}), {}, std::move(done));
    }

private:
    ring_shape shape_;
    std::vector<std::byte> ring_;
    std::vector<std::byte> staging_;
    std::deque<write_order> under_way_;
    std::uint32_t receives_ = 0;
    end *peer_ = nullptr;

public:
    ring_connection connection;
    bool refuse = false;
    bool waiting = false;
    bool greeted = false;
    bool closed = false;
    bool abandoned = false;
    std::vector<std::string> messages;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> arrivals;
    std::string failure;
};

class ring_connection_test : public testing::Test
{
protected:
    explicit ring_connection_test(const ring_shape &one = usual, const ring_shape &other = usual) : a{one}, b{other}
    {
        a.connect(b);
        b.connect(a);
    }
    void run()
    {
        bool more = true;
        while (more) {
            more = a.step();
            more = b.step() || more;
        }
    }

    end a;
    end b;
};

TEST_F(ring_connection_test, both_ends_greet)
{
    run();
    EXPECT_TRUE(a.greeted && b.greeted);
    EXPECT_EQ(a.connection.longest_message(), usual.slot_bytes);
}

TEST_F(ring_connection_test, messages_arrive_in_their_order_however_many)
{
    constexpr int many = 1000;
    int done = 0;
    for (int i = 0; i < many; ++i)
        a.say("message " + std::to_string(i), [&] { ++done; });
    run();
    ASSERT_EQ(b.messages.size(), std::size_t{many});
    for (int i = 0; i < many; ++i)
        EXPECT_EQ(b.messages[static_cast<std::size_t>(i)], "message " + std::to_string(i));
    EXPECT_EQ(done, many);
    EXPECT_FALSE(a.connection.under_way());
}

TEST_F(ring_connection_test, no_more_are_under_way_than_the_ring_holds)
{
    for (int i = 0; i < 100; ++i)
        a.say("x");
    int steps = 0;
    while (a.step())
        ++steps;
    EXPECT_EQ(steps, usual.slots + 1); // and the greeting; the far end's credit does not arrive
    EXPECT_EQ(b.messages.size(), std::size_t{usual.slots});
    run();
    EXPECT_EQ(b.messages.size(), 100U);
}

TEST_F(ring_connection_test, long_transfers_go_straight_to_their_place_and_keep_the_order)
{
    std::vector<char> source(100000, 's');
    std::vector<char> target(100000, 't');
    bool done = false;
    a.say("before");
    a.connection.write({.source = reinterpret_cast<std::uintptr_t>(source.data()),
                        .bytes = 0,
                        .lkey = 1,
                        .target = reinterpret_cast<std::uintptr_t>(target.data()),
                        .rkey = 2,
                        .imm = {}},
                       source.size(), 0x7654321, [&] { done = true; });
    a.say("after");
    EXPECT_TRUE(a.connection.writes_under_way());
    ASSERT_TRUE(a.step() && a.step()); // the greeting, "before"
    EXPECT_TRUE(b.arrivals.empty());
    ASSERT_TRUE(a.step());
    EXPECT_EQ(target, source);
    ASSERT_EQ(b.arrivals.size(), 1U);
    EXPECT_EQ(b.arrivals[0], std::pair(0x7654321U, std::uint64_t{100000}));
    EXPECT_EQ(b.messages.size(), 1U);
    EXPECT_TRUE(done);
    EXPECT_FALSE(a.connection.writes_under_way());
    run();
    EXPECT_EQ(b.messages.size(), 2U);
}

TEST_F(ring_connection_test, what_is_longer_than_a_write_may_be_goes_in_pieces)
{
    // Nothing is copied: the port sees the orders only.
    class recorder : public write_port
    {
    public:
        int post_write(const write_order &order) override
        {
            orders.push_back(order);
            return 0;
        }
        int post_receive() override { return 0; }
        void abandon() override {}
        std::vector<write_order> orders;
    } port;
    ring_connection connection{port, usual, {}, a};
    connection.start(usual, 0, 0);
    port.orders.clear();
    constexpr std::uint64_t piece = ring_connection::longest_write;
    connection.write({.source = 1000, .bytes = 0, .lkey = 0, .target = 5000, .rkey = 0, .imm = {}}, 2 * piece + 3, 9,
                     {});
    ASSERT_EQ(port.orders.size(), 3U);
    EXPECT_EQ(port.orders[1].source, 1000 + piece);
    EXPECT_EQ(port.orders[2].target, 5000 + 2 * piece);
    EXPECT_EQ(port.orders[2].bytes, 3U);
    EXPECT_EQ(immediate::decode(*port.orders[0].imm).kind, immediate_kind::piece);
    EXPECT_EQ(immediate::decode(*port.orders[2].imm), (immediate{.kind = immediate_kind::arrival, .value = 9}));
    // At the far end they count as one.
    connection.on_received(*port.orders[0].imm, port.orders[0].bytes);
    connection.on_received(*port.orders[1].imm, port.orders[1].bytes);
    EXPECT_TRUE(a.arrivals.empty());
    connection.on_received(*port.orders[2].imm, port.orders[2].bytes);
    EXPECT_EQ(a.arrivals.at(0).second, 2 * piece + 3);
}

TEST_F(ring_connection_test, a_farewell_is_the_last_thing_that_arrives)
{
    a.say("last");
    a.connection.farewell();
    a.say("too late");
    run();
    EXPECT_TRUE(b.closed);
    EXPECT_EQ(b.messages, std::vector<std::string>{"last"});
    EXPECT_TRUE(b.connection.farewell_arrived());
}

TEST_F(ring_connection_test, a_failure_is_told_once_and_ends_everything)
{
    run();
    a.refuse = true;
    a.say("x");
    EXPECT_EQ(a.failure, "cannot post a WRITE: Input/output error");
    EXPECT_TRUE(a.abandoned && a.connection.failed());
    a.failure.clear();
    a.connection.fail("again");
    a.say("y");
    EXPECT_EQ(a.failure, "");
}

TEST_F(ring_connection_test, an_unknown_immediate_is_a_failure)
{
    run();
    a.connection.on_received(0xF0000000, 0);
    EXPECT_EQ(a.failure, "the far end speaks another language");
}

TEST_F(ring_connection_test, credit_for_what_was_not_sent_is_a_failure)
{
    a.connection.on_received(immediate{.kind = immediate_kind::credit, .value = 1}.encode(), 0);
    EXPECT_EQ(a.failure, "it gives back more credit than it was sent messages");
    EXPECT_TRUE(a.abandoned);
}

TEST_F(ring_connection_test, who_is_detached_is_called_no_more)
{
    bool done = false;
    a.say("x", [&] { done = true; });
    a.connection.detach();
    b.say("y");
    run();
    EXPECT_FALSE(done);
    EXPECT_TRUE(a.messages.empty());
}

TEST_F(ring_connection_test, who_has_greeted_and_owes_an_answer_for_long_is_given_up)
{
    run();
    a.say("x"); // and b's mrcd is gone
    for (int i = 1; i < ring_connection::patience_ticks; ++i)
        a.connection.tick();
    EXPECT_EQ(a.failure, "");
    a.connection.tick();
    EXPECT_EQ(a.failure, "it does not answer any more");
    EXPECT_TRUE(a.abandoned);
}

TEST_F(ring_connection_test, who_has_not_greeted_may_take_any_time)
{
    a.say("x");
    for (int i = 0; i < 10 * ring_connection::patience_ticks; ++i)
        a.connection.tick();
    EXPECT_EQ(a.failure, "");
    run();
    EXPECT_EQ(b.messages, std::vector<std::string>{"x"});
}

TEST_F(ring_connection_test, an_answer_gives_a_slow_far_end_its_time_anew)
{
    run();
    a.say("x");
    a.say("y");
    for (int answers = 0; answers < 2; ++answers) {
        for (int i = 1; i < ring_connection::patience_ticks; ++i)
            a.connection.tick();
        ASSERT_TRUE(a.step());
    }
    // Nor does what has been silent, and owed nothing, count.
    for (int i = 0; i < 2 * ring_connection::patience_ticks; ++i)
        a.connection.tick();
    a.say("z");
    a.connection.tick();
    EXPECT_EQ(a.failure, "");
}

TEST_F(ring_connection_test, a_silent_far_end_is_asked_when_somebody_waits_for_it)
{
    run();
    a.connection.tick(); // it has just been heard
    EXPECT_FALSE(a.step());
    a.connection.tick();
    EXPECT_FALSE(a.step()); // nobody waits
    a.waiting = true;
    a.connection.tick();
    a.connection.tick(); // one question is enough
    EXPECT_TRUE(a.step());
    EXPECT_FALSE(a.step());
    EXPECT_TRUE(b.messages.empty());
    EXPECT_EQ(b.arrivals.size(), 0U);
}

struct mixture {
    ring_shape one;
    ring_shape other;
    std::uint64_t seed;
};

std::vector<mixture> mixtures()
{
    constexpr std::array<ring_shape, 5> shapes{usual,
                                               {.slots = 1, .slot_bytes = 64},
                                               {.slots = 2, .slot_bytes = 300},
                                               {.slots = 7, .slot_bytes = 100},
                                               {.slots = 64, .slot_bytes = 4096}};
    std::vector<mixture> all;
    for (const ring_shape &one : shapes)
        for (const ring_shape &other : shapes)
            for (int again = 0; again < 3; ++again)
                all.push_back({.one = one, .other = other, .seed = all.size() + 1});
    return all;
}

class ring_mixture_test : public ring_connection_test, public testing::WithParamInterface<mixture>
{
protected:
    ring_mixture_test() : ring_connection_test{GetParam().one, GetParam().other} {}
};

INSTANTIATE_TEST_SUITE_P(shapes, ring_mixture_test, testing::ValuesIn(mixtures()), [](const auto &chosen) {
    const auto text = [](const ring_shape &shape) {
        return std::to_string(shape.slots) + "x" + std::to_string(shape.slot_bytes);
    };
    return text(chosen.param.one) + "_" + text(chosen.param.other) + "_" + std::to_string(chosen.param.seed);
});

TEST_P(ring_mixture_test, any_mixture_arrives_whole_in_any_interleaving)
{
    std::mt19937_64 random{GetParam().seed};
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    std::array<end *, 2> ends{&a, &b};
    std::array<std::vector<std::string>, 2> sent;
    std::array<std::size_t, 2> wrote{};
    std::vector<char> memory(1000);
    std::vector<char> place(1000);
    for (int i = 0; i < 5000; ++i) {
        const std::size_t who = below(2);
        switch (below(4)) {
        case 0:
            sent.at(who).emplace_back(1 + below(a.connection.longest_message()), static_cast<char>('a' + below(26)));
            ends.at(who)->say(sent.at(who).back());
            break;
        case 1:
            ends.at(who)->connection.write({.source = reinterpret_cast<std::uintptr_t>(memory.data()),
                                            .bytes = 0,
                                            .lkey = 1,
                                            .target = reinterpret_cast<std::uintptr_t>(place.data()),
                                            .rkey = 1,
                                            .imm = {}},
                                           below(memory.size()), static_cast<std::uint32_t>(wrote.at(who)++), {});
            break;
        default:
            (void)ends.at(who)->step();
        }
    }
    run();
    for (const std::size_t who : {std::size_t{0}, std::size_t{1}}) {
        const end &far = *ends.at(1 - who);
        EXPECT_EQ(far.messages, sent.at(who));
        ASSERT_EQ(far.arrivals.size(), wrote.at(who));
        for (std::size_t i = 0; i < wrote.at(who); ++i)
            EXPECT_EQ(far.arrivals[i].first, i);
        EXPECT_EQ(far.failure, "");
    }
}

} // namespace
} // namespace mrc::messaging
