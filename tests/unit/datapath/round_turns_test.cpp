// SPDX-License-Identifier: Apache-2.0
// Threads of a program beside the worker's own. What a thread waits for is told by another one: a test that hangs has
// failed.
#include "datapath/round_turns.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "datapath/own_host.h"
#include "kernel/unique_fd.h"
#include "unit/datapath/worker_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;

const auto wakes_nobody = [] {};

TEST(round_turns, the_own_thread_keeps_until_a_guest_that_spins_sends_it_aside)
{
    round_turns turns;
    EXPECT_TRUE(turns.try_keep());
    EXPECT_FALSE(turns.is_unwanted());
    EXPECT_TRUE(turns.send_aside()) << "it may sleep";
    EXPECT_TRUE(turns.is_unwanted());
    EXPECT_FALSE(turns.send_aside()) << "it has been told";
    turns.stop_keeping();
    EXPECT_FALSE(turns.is_unwanted());
    EXPECT_FALSE(turns.send_aside()) << "there is no keeper";
}

TEST(round_turns, a_guest_that_waits_is_the_keeper_once_the_own_thread_has_stood_aside)
{
    round_turns turns;
    std::binary_semaphore keeps{0};
    std::thread own{[&] {
        ASSERT_TRUE(turns.try_keep());
        keeps.release();
        while (!turns.is_unwanted())
            std::this_thread::yield();
        turns.stop_keeping();
    }};
    keeps.acquire();
    EXPECT_TRUE(turns.become_keeper(wakes_nobody));
    own.join();
    EXPECT_FALSE(turns.try_keep());
    EXPECT_FALSE(turns.become_keeper(wakes_nobody)) << "another guest follows";
    turns.leave_keeping();
    EXPECT_TRUE(turns.try_keep());
}

TEST(round_turns, followers_have_the_own_thread_as_their_keeper)
{
    round_turns turns;
    turns.add_follower();
    EXPECT_FALSE(turns.become_keeper(wakes_nobody));
    EXPECT_TRUE(turns.try_keep());
    EXPECT_FALSE(turns.send_aside());
    turns.remove_follower();
    EXPECT_TRUE(turns.send_aside());
}

// Each of these ends a stand_aside() that nothing else would end: a guest is the keeper, and sleeps.
TEST(round_turns, whoever_summons_it_a_follower_and_the_end_of_guests_bring_the_own_thread_back)
{
    const std::vector<void (*)(round_turns &)> ways{[](round_turns &turns) { turns.summon(); },
                                                    [](round_turns &turns) {
                                                        turns.add_follower();
                                                        turns.leave_keeping();
                                                    },
                                                    [](round_turns &turns) { turns.dismiss_guests(); }};
    for (const auto end : ways) {
        round_turns turns;
        ASSERT_TRUE(turns.become_keeper(wakes_nobody));
        std::thread own{[&] { turns.stand_aside(); }};
        end(turns);
        own.join();
    }
}

TEST(round_turns, it_comes_back_when_no_guest_is_there_any_more)
{
    round_turns turns;
    ASSERT_TRUE(turns.become_keeper(wakes_nobody));
    std::thread own{[&] { turns.stand_aside(); }};
    turns.leave_keeping();
    own.join();
    EXPECT_TRUE(turns.try_keep());
}

TEST(round_turns, no_guest_becomes_the_keeper_when_they_have_been_dismissed)
{
    round_turns turns;
    turns.dismiss_guests();
    EXPECT_FALSE(turns.become_keeper(wakes_nobody));
    EXPECT_TRUE(turns.try_keep());
}

class worker_guests : public testing::Test
{
protected:
    void SetUp() override { worker_.start(); }
    void TearDown() override { worker_.stop(); }

    // Of the worker, between rounds.
    [[nodiscard]] std::uint64_t loops()
    {
        std::uint64_t count = 0;
        worker_.call([&] { count = worker_.counters().loops; });
        return count;
    }
    // A guest that waits for the event.
    [[nodiscard]] std::optional<int> wait_for(const kernel::unique_fd &event, protocol::instant until = protocol::never)
    {
        std::array waited{pollfd{.fd = event.get(), .events = POLLIN, .revents = 0}};
        return worker_.poll_as_guest(waited, until);
    }

    test::worker_surroundings around_;
    worker worker_{{.marks = {}, .turns = {}}, around_.resources()};
};

TEST_F(worker_guests, a_guest_that_spins_makes_the_rounds_soon)
{
    while (!worker_.round_as_guest(session::round_for::spin))
        std::this_thread::yield();
    EXPECT_GT(loops(), 0U) << "and the own thread answers all the same";
}

// Two queue pairs of one host in a program that polls; a message is on its way from the first to the second.
class worker_guests_that_answer : public testing::Test
{
protected:
    void SetUp() override
    {
        auto client = test::client_in_memory(1);
        sends_.post_sends(1);
        worker_.add_qp(sends_.connect(*client, 16, 17, host_.peer(), nullptr, &memory_));
        worker_.add_qp(receives_.connect(*client, 17, 16, host_.peer(), nullptr, &memory_));
        worker_.add_client(std::move(client));
    }
    [[nodiscard]] std::uint64_t packets() const { return worker_.counters().drops[MRC_AGENT_LOCAL]; }

    own_host host_{mrc_ip{{0xfd, 1}}};
    test::any_memory memory_;
    test::rings_in_memory sends_{16};
    test::rings_in_memory receives_{16};
    test::worker_surroundings around_;
    worker worker_{{.marks = {}, .turns = {}}, around_.resources()};
};

TEST_F(worker_guests_that_answer, see_what_has_arrived_before_it_is_acknowledged)
{
    EXPECT_TRUE(worker_.round_as_guest(session::round_for::poll));
    EXPECT_EQ(memory_.bytes, 8U);
    EXPECT_EQ(packets(), 1U);
    EXPECT_TRUE(worker_.round_as_guest(session::round_for::poll));
    EXPECT_GT(packets(), 1U) << "the acknowledgement";
    EXPECT_TRUE(worker_.round_as_guest(session::round_for::spin));
    EXPECT_EQ(sends_.take_completions(), 1U);
}

TEST_F(worker_guests_that_answer, acknowledge_at_once_when_they_post)
{
    EXPECT_TRUE(worker_.round_as_guest(session::round_for::post));
    EXPECT_EQ(memory_.bytes, 8U);
    EXPECT_GT(packets(), 1U);
}

TEST_F(worker_guests_that_answer, leave_the_acknowledgement_to_the_own_thread_when_they_poll_no_more)
{
    EXPECT_TRUE(worker_.round_as_guest(session::round_for::spin));
    EXPECT_EQ(packets(), 1U);
    worker_.start();
    const auto given_up = std::chrono::steady_clock::now() + 10s;
    std::size_t completed = 0;
    while (completed == 0 && std::chrono::steady_clock::now() < given_up)
        completed = sends_.take_completions();
    worker_.stop();
    EXPECT_EQ(completed, 1U);
}

TEST_F(worker_guests, calls_of_other_threads_are_answered_by_a_guest_that_waits)
{
    const kernel::unique_fd event{::eventfd(0, EFD_CLOEXEC)};
    std::optional<int> came;
    std::thread guest{[&] { came = wait_for(event); }};
    bool by_guest = false;
    while (!by_guest)
        worker_.call([&, id = guest.get_id()] { by_guest = std::this_thread::get_id() == id; });
    ::eventfd_write(event.get(), 1);
    guest.join();
    EXPECT_EQ(came, 1);
    EXPECT_EQ(wait_for(event), 1) << "still";
    eventfd_t count = 0;
    ASSERT_EQ(::eventfd_read(event.get(), &count), 0);
    EXPECT_EQ(wait_for(event, protocol::instant{}), 0) << "the time is over";
}

TEST_F(worker_guests, one_thread_at_a_time_is_in_a_round)
{
    std::atomic<bool> over{false};
    std::array<std::thread, 3> guests;
    for (std::thread &guest : guests)
        guest = std::thread{[&] {
            while (!over)
                if (!worker_.round_as_guest(session::round_for::spin))
                    std::this_thread::yield();
        }};
    std::uint64_t counted = 0; // by whichever thread makes the round
    constexpr unsigned calls = 2000;
    for (unsigned i = 0; i < calls; ++i)
        worker_.call([&] { counted = counted + 1; });
    over = true;
    for (std::thread &guest : guests)
        guest.join();
    EXPECT_EQ(counted, calls);
}

TEST_F(worker_guests, dismissed_guests_leave_and_the_own_thread_goes_on)
{
    const kernel::unique_fd event{::eventfd(0, EFD_CLOEXEC)};
    std::thread guest{[&] { (void)wait_for(event); }};
    bool by_guest = false;
    while (!by_guest)
        worker_.call([&, id = guest.get_id()] { by_guest = std::this_thread::get_id() == id; });
    worker_.dismiss_guests();
    guest.join();
    EXPECT_FALSE(worker_.round_as_guest(session::round_for::spin));
    EXPECT_EQ(wait_for(event), std::nullopt);
    bool called = false;
    worker_.call([&] { called = true; });
    EXPECT_TRUE(called);
}

} // namespace
} // namespace mrc::datapath
