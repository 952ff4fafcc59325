// SPDX-License-Identifier: Apache-2.0
// A worker's thread without sockets: what has changed is in the maps before it sleeps. Without that it was there after
// the sleep, which ends 100 ms later when nothing comes.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>

#include <gtest/gtest.h>

#include "kernel/monotonic_clock.h"
#include "unit/datapath/worker_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;

constexpr auto deadline = 10s;
// Every 10 ms the worker writes anyway: once may be by chance.
constexpr unsigned repetitions = 20;

class worker_sleep : public testing::Test
{
protected:
    void SetUp() override
    {
        worker_.add_peer(host_.peer());
        worker_.start();
    }
    void TearDown() override { worker_.stop(); }

    [[nodiscard]] std::uint64_t sleeps()
    {
        std::uint64_t count = 0;
        worker_.call([&] { count = worker_.counters().sleeps; });
        return count;
    }

    std::atomic<std::uint64_t> sleeps_when_written_{0};
    std::atomic<unsigned> state_when_told_{0};
    std::binary_semaphore written_{0};
    test::worker_surroundings around_;
    test::remote_host host_{1, 4};
    worker worker_{{.marks = {}, .turns = {}}, [this] {
                       worker::resources given = around_.resources();
                       given.write_verdict = [this](std::uint32_t, std::uint64_t) {
                           sleeps_when_written_ = worker_.counters().sleeps;
                           written_.release();
                           return true;
                       };
                       given.on_path_state = [this](const protocol::path_transition &change) {
                           sleeps_when_written_ = worker_.counters().sleeps;
                           state_when_told_ = around_.paths[change.path.value].state;
                           written_.release();
                       };
                       return given;
                   }()};
};

TEST_F(worker_sleep, verdicts_are_written_before_it)
{
    for (unsigned n = 0; n < repetitions; ++n) {
        std::uint64_t before = 0;
        worker_.call([&] {
            before = worker_.counters().sleeps;
            std::array<std::byte, 128> frame{}; // without metadata: dropped, and counted
            worker_.on_frame(frame.data(), frame.size(), kernel::monotonic_now());
        });
        ASSERT_TRUE(written_.try_acquire_for(deadline));
        EXPECT_EQ(sleeps_when_written_, before);
    }
}

TEST_F(worker_sleep, states_of_paths_are_written_before_it)
{
    for (unsigned n = 0; n < repetitions; ++n) {
        std::uint64_t before = 0;
        const bool denied = n % 2 == 0;
        worker_.call([&] {
            before = worker_.counters().sleeps;
            if (denied)
                host_.group.deny(2);
            else
                host_.group.allow(2);
        });
        ASSERT_TRUE(written_.try_acquire_for(deadline));
        EXPECT_EQ(sleeps_when_written_, before);
        EXPECT_EQ(state_when_told_, denied ? MRC_PATH_DENIED : MRC_PATH_GOOD);
    }
}

TEST_F(worker_sleep, nothing_is_written_that_has_not_changed)
{
    const std::uint64_t before = sleeps();
    while (sleeps() < before + repetitions) { // each look ends one
    }
    EXPECT_FALSE(written_.try_acquire());
}

} // namespace
} // namespace mrc::datapath
