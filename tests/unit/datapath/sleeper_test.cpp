// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "datapath/sleeper.h"

namespace mrc::datapath
{
namespace
{

// Something that packets come from.
struct source {
    [[nodiscard]] int fd() const { return end.get(); }
    kernel::unique_fd end{::eventfd(0, EFD_CLOEXEC)};
};

class sleep_test : public testing::Test
{
protected:
    void ring(const kernel::unique_fd &bell) { ASSERT_EQ(::eventfd_write(bell.get(), 1), 0); }
    [[nodiscard]] sleep_end park(protocol::instant until = protocol::never)
    {
        return sleeper_.park_until(until, packets_, [] { return false; }, baton_);
    }

    sleeper sleeper_;
    std::mutex baton_;
    std::unique_lock<std::mutex> held_{baton_};
    std::vector<std::unique_ptr<source>> packets_;
};

TEST_F(sleep_test, clients_see_that_it_sleeps_before_it_looks_for_requests_a_last_time)
{
    void *page = ::mmap(nullptr, sizeof(session::worker_status), PROT_READ, MAP_SHARED, sleeper_.status_fd(), 0);
    ASSERT_NE(page, MAP_FAILED);
    const kernel::mapping status{page, sizeof(session::worker_status)};
    const auto *seen = static_cast<const session::worker_status *>(status.get());
    std::uint32_t sleeping = 9;
    const sleep_end end = sleeper_.park_until(
        protocol::never, packets_,
        [&] {
            sleeping = seen->sleeping;
            return true;
        },
        baton_);
    EXPECT_EQ(end, sleep_end::not_slept);
    EXPECT_EQ(sleeping, 1U);
    EXPECT_EQ(seen->sleeping, 0U);
}

TEST_F(sleep_test, packets_of_a_new_source_end_it_although_its_descriptor_had_been_anothers)
{
    packets_.push_back(std::make_unique<source>());
    EXPECT_EQ(park(protocol::instant{}), sleep_end::timed_out);
    const int number = packets_.front()->fd();
    sleeper_.forget_sources();
    packets_.clear();
    packets_.push_back(std::make_unique<source>());
    ASSERT_EQ(packets_.front()->fd(), number) << "the kernel gives the lowest number";
    ring(packets_.front()->end);
    EXPECT_EQ(park(), sleep_end::woken);
}

TEST_F(sleep_test, bells_rung_before_it_end_it_once)
{
    sleeper_.wake();
    EXPECT_EQ(park(), sleep_end::woken);
    const kernel::unique_fd doorbell{::eventfd(0, EFD_CLOEXEC)};
    ASSERT_TRUE(sleeper_.hear(doorbell));
    ring(doorbell);
    EXPECT_EQ(park(), sleep_end::woken);
    EXPECT_EQ(park(), sleep_end::timed_out);
    sleeper_.stop_hearing(doorbell);
    ring(doorbell);
    EXPECT_EQ(park(), sleep_end::timed_out);
}

TEST_F(sleep_test, packets_end_it_as_long_as_they_wait)
{
    packets_.push_back(std::make_unique<source>());
    EXPECT_EQ(park(), sleep_end::timed_out);
    ring(packets_[0]->end);
    EXPECT_EQ(park(), sleep_end::woken);
    EXPECT_EQ(park(), sleep_end::woken);
}

TEST_F(sleep_test, a_passed_deadline_is_no_sleep_at_all)
{
    EXPECT_EQ(park(protocol::instant{}), sleep_end::timed_out);
}

TEST_F(sleep_test, whoever_takes_the_baton_meanwhile_can_have_it_end_earlier)
{
    EXPECT_FALSE(sleeper_.is_parked());
    sleeper_.wake_by(protocol::instant{}); // nobody sleeps
    std::thread other{[this] {
        for (bool told = false; !told;) {
            const std::scoped_lock baton{baton_};
            told = sleeper_.is_parked();
            if (told)
                sleeper_.wake_by(protocol::instant{std::chrono::nanoseconds{1}});
        }
    }};
    EXPECT_EQ(park(), sleep_end::woken);
    EXPECT_FALSE(sleeper_.is_parked());
    held_.unlock();
    other.join();
}

} // namespace
} // namespace mrc::datapath
