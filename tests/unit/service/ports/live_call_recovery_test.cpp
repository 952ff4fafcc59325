// SPDX-License-Identifier: Apache-2.0
#include "service/ports/live_call_recovery.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "kernel/unique_fd.h"

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;

class recovery_test : public testing::Test
{
protected:
    live_call_recovery::surroundings around()
    {
        return {.bell_fd = bell_.get(),
                .acknowledge =
                    [this] {
                        eventfd_t rings = 0;
                        EXPECT_EQ(::eventfd_read(bell_.get(), &rings), 0);
                    },
                .slowest = [] { return protocol::duration{12'300us}; },
                .attach_again =
                    [this] {
                        ++attached_;
                        return true;
                    },
                .try_one =
                    [this] {
                        ++tries_;
                        return !waits_ || !waits_(tries_);
                    },
                .give_back = [this] { ++given_back_; }};
    }
    void give_up_and_await_return()
    {
        const unsigned before = given_back_;
        ASSERT_EQ(::eventfd_write(bell_.get(), 1), 0);
        const auto deadline = std::chrono::steady_clock::now() + 10s;
        while (given_back_ == before && std::chrono::steady_clock::now() < deadline)
            context_.run_one_for(100ms);
        ASSERT_EQ(given_back_, before + 1);
    }

    static constexpr recovery_pace quick{
        .between_tries = 1ms, .tries = 5, .after_wait = 1ms, .longest_wait = 2ms, .waits_per_attach = 4};
    boost::asio::io_context context_;
    kernel::unique_fd bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::function<bool(unsigned)> waits_; // whether the try of that number has to wait
    unsigned tries_ = 0;
    unsigned attached_ = 0;
    unsigned given_back_ = 0;
    std::vector<std::pair<log_level, std::string>> lines_;
    dispatcher_lines told_{[this](log_level level, const std::string &line) { lines_.emplace_back(level, line); }};
};

TEST_F(recovery_test, attaches_again_and_returns_when_calls_no_longer_wait)
{
    const live_call_recovery recovery{context_, around(), told_, quick};
    give_up_and_await_return();
    EXPECT_EQ(attached_, 1U);
    EXPECT_EQ(tries_, quick.tries);
    ASSERT_EQ(lines_.size(), 2U);
    EXPECT_EQ(lines_[0].first, log_level::warning);
    EXPECT_NE(lines_[0].second.find("XDP dispatcher, 12.3 ms"), std::string::npos) << lines_[0].second;
    EXPECT_EQ(lines_[1].first, log_level::info);
    EXPECT_NE(lines_[1].second.find("in use again"), std::string::npos) << lines_[1].second;
}

TEST_F(recovery_test, only_tries_in_a_row_count)
{
    waits_ = [](unsigned number) { return number <= 10 || number == 13; };
    const live_call_recovery recovery{context_, around(), told_, quick};
    give_up_and_await_return();
    EXPECT_EQ(tries_, 13 + quick.tries);
    EXPECT_EQ(attached_, 1 + 11 / quick.waits_per_attach);
}

// On a time of its own.
class dispatcher_lines_test : public testing::Test
{
protected:
    void give_up() { told_.on_given_up(now_, protocol::duration{12'300us}); }
    void give_back() { told_.on_given_back(now_); }

    protocol::instant now_{std::chrono::hours{1}};
    std::vector<std::string> lines_;
    dispatcher_lines told_{[this](log_level, const std::string &line) { lines_.push_back(line); }};
};

TEST_F(dispatcher_lines_test, a_second_time_within_a_minute_is_not_said_but_counted_in_the_next_line)
{
    for (unsigned times = 0; times < 3; ++times) {
        give_up();
        now_ += 1s;
        give_back();
    }
    EXPECT_EQ(lines_.size(), 2U) << "left, and back, once";
    now_ += 1min;
    give_up();
    ASSERT_EQ(lines_.size(), 3U);
    EXPECT_NE(lines_[2].find("(2 times more"), std::string::npos) << lines_[2];
    give_back();
    EXPECT_EQ(lines_.size(), 4U);
}

TEST_F(dispatcher_lines_test, the_first_worker_to_give_up_and_the_last_to_return_are_said)
{
    for (unsigned worker = 0; worker < 3; ++worker) {
        give_up();
        now_ += 500ms;
    }
    EXPECT_EQ(lines_.size(), 1U);
    give_back();
    give_up();
    give_back();
    give_back();
    EXPECT_EQ(lines_.size(), 1U) << "one is without calls still";
    now_ += 1s;
    give_back();
    ASSERT_EQ(lines_.size(), 2U);
    EXPECT_NE(lines_[1].find("again after 2.5 s"), std::string::npos) << lines_[1];
}

} // namespace
} // namespace mrc::service
