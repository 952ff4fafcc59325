// SPDX-License-Identifier: Apache-2.0
// A worker's thread without sockets: what has changed is in the maps before it sleeps. Without that it was there after
// the sleep, which ends 100 ms later when nothing comes.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>

#include <gtest/gtest.h>
#include <sys/mman.h>

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

// Goes on by a microsecond with each look at it: how long a worker looks on is not the machine's matter.
std::atomic<std::int64_t> looks{0};

protocol::instant clock_by_looks()
{
    static const protocol::instant ahead = kernel::monotonic_now() + 1h; // of what sleeps go by: none is over at once
    return ahead + std::chrono::microseconds{looks.fetch_add(1, std::memory_order_relaxed)};
}

class worker_that_looks_on : public testing::Test
{
protected:
    // How long it has looked for more to do when it sleeps.
    static std::chrono::microseconds looked_on(std::chrono::microseconds spin)
    {
        test::worker_surroundings around;
        worker one{{.marks = {}, .turns = {}, .spin = spin, .clock = clock_by_looks}, around.resources()};
        const auto page =
            kernel::mapping{::mmap(nullptr, sizeof(session::worker_status), PROT_READ, MAP_SHARED, one.status_fd(), 0),
                            sizeof(session::worker_status)};
        auto &sleeping = static_cast<session::worker_status *>(page.get())->sleeping;
        one.start();
        std::int64_t begun = 0;
        one.call([&] { begun = looks; });
        const auto given_up = std::chrono::steady_clock::now() + deadline;
        while (__atomic_load_n(&sleeping, __ATOMIC_ACQUIRE) == 0 && std::chrono::steady_clock::now() < given_up) {
        }
        const std::chrono::microseconds seen{looks - begun};
        one.stop();
        return seen;
    }
};

TEST_F(worker_that_looks_on, sleeps_at_once_where_it_is_told_to)
{
    EXPECT_LT(looked_on(0us), 100us);
}

TEST_F(worker_that_looks_on, sleeps_when_that_time_has_passed_without_anything_to_do)
{
    for (const auto spin : {500us, 5000us}) {
        const auto seen = looked_on(spin);
        EXPECT_GE(seen, spin);
        EXPECT_LT(seen, spin + 100us);
    }
}

} // namespace
} // namespace mrc::datapath
