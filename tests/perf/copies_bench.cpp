// SPDX-License-Identifier: Apache-2.0
// Ways to copy between this process and another one's memory, per packet of 3,072 bytes: how many of them one call
// moves is the argument. What leaves or arrives lies in slots of its own, as packets do. Root.
// read_by_thread: by another thread, which sleeps in between, as one for each client would.
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "kernel/process_memory.h"
#include "run_benchmarks.h"

namespace
{

using namespace mrc::kernel;

constexpr std::size_t payload_bytes = 3072;
constexpr std::size_t slot_bytes = 4096;
constexpr std::size_t slots = 1024;
constexpr std::size_t most_packets = 32;
constexpr std::size_t far_bytes = 16 << 20;

// A process that has memory and waits for its end, which comes with ours.
class far_process
{
public:
    far_process()
        : memory_{::mmap(nullptr, far_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), far_bytes}
    {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            std::abort();
        pid_ = ::fork();
        if (pid_ < 0)
            std::abort();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            std::memset(memory_.get(), 1, far_bytes);
            (void)!::write(ends[1], "", 1);
            for (;;)
                ::pause();
        }
        char byte = 0;
        (void)!::read(ends[0], &byte, 1);
        ::close(ends[0]);
        ::close(ends[1]);
        const std::string path = "/proc/" + std::to_string(pid_) + "/mem";
        access_ = process_memory::adopt(unique_fd{::open(path.c_str(), O_RDWR | O_CLOEXEC)}).value();
    }
    far_process(const far_process &) = delete;
    far_process &operator=(const far_process &) = delete;
    ~far_process()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] const process_memory &access() const { return *access_; }
    // Where the next so many bytes are, one after the other.
    [[nodiscard]] std::uintptr_t next(std::size_t bytes)
    {
        if (at_ + bytes > far_bytes)
            at_ = 0;
        at_ += bytes;
        return reinterpret_cast<std::uintptr_t>(memory_.get()) + at_ - bytes;
    }

private:
    mapping memory_;
    pid_t pid_ = -1;
    std::shared_ptr<const process_memory> access_;
    std::size_t at_ = 0;
};

struct near_slots {
    [[nodiscard]] std::byte *next() { return bytes.data() + next_slot++ % slots * slot_bytes; }

    std::vector<std::byte> bytes = std::vector<std::byte>(slots * slot_bytes);
    std::size_t next_slot = 0;
};

template <typename Copy>
void run(benchmark::State &state, Copy copy)
{
    far_process far;
    near_slots near;
    std::vector<std::byte> stage(most_packets * payload_bytes);
    const auto packets = static_cast<std::size_t>(state.range(0));
    for ([[maybe_unused]] auto _ : state)
        if (!copy(far, near, std::span{stage}.first(packets * payload_bytes)))
            state.SkipWithError("a copy failed");
    state.SetItemsProcessed(state.iterations() * state.range(0));
    state.SetBytesProcessed(state.items_processed() * static_cast<std::int64_t>(payload_bytes));
}

bool read_ahead(far_process &far, near_slots &near, std::span<std::byte> stage)
{
    if (!far.access().read(far.next(stage.size()), stage))
        return false;
    for (std::size_t at = 0; at < stage.size(); at += payload_bytes)
        std::memcpy(near.next(), stage.data() + at, payload_bytes);
    return true;
}

bool write_gathered(far_process &far, near_slots &near, std::span<std::byte> stage)
{
    for (std::size_t at = 0; at < stage.size(); at += payload_bytes)
        std::memcpy(stage.data() + at, near.next(), payload_bytes);
    return far.access().write(far.next(stage.size()), stage);
}

// For comparison: it takes privileges that mrcd does not have (docs/security.md).
template <auto Call>
bool by_process_vm(far_process &far, near_slots &near, std::span<std::byte> stage)
{
    std::array<iovec, most_packets> here;
    const std::size_t packets = stage.size() / payload_bytes;
    for (std::size_t n = 0; n < packets; ++n)
        here[n] = {near.next(), payload_bytes};
    const iovec there{reinterpret_cast<void *>(far.next(stage.size())), stage.size()}; // NOLINT: of another process
    return Call(far.pid(), here.data(), packets, &there, 1, 0) == static_cast<ssize_t>(stage.size());
}

// Reads ahead for whoever asks, and sleeps in between.
class reading_thread
{
public:
    explicit reading_thread(int cpu) : thread_{[this](const std::stop_token &stop) { serve(stop); }}
    {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(static_cast<std::size_t>(cpu), &only);
        if (::pthread_setaffinity_np(thread_.native_handle(), sizeof(only), &only) != 0)
            std::abort(); // there is no such CPU, and the row would be of another one
    }
    reading_thread(const reading_thread &) = delete;
    reading_thread &operator=(const reading_thread &) = delete;
    ~reading_thread()
    {
        thread_.request_stop();
        ask(nullptr, nullptr, {});
    }

    bool read(far_process &far, near_slots &near, std::span<std::byte> stage)
    {
        ask(&far, &near, stage);
        answered_.wait(asked_ - 1);
        return done_;
    }

private:
    void ask(far_process *far, near_slots *near, std::span<std::byte> stage)
    {
        far_ = far;
        near_ = near;
        stage_ = stage;
        ++asked_;
        asked_.notify_one();
    }
    void serve(const std::stop_token &stop)
    {
        for (unsigned served = 0;; ++served) {
            asked_.wait(served);
            if (stop.stop_requested())
                return;
            done_ = read_ahead(*far_, *near_, stage_);
            ++answered_;
            answered_.notify_one();
        }
    }

    far_process *far_ = nullptr;
    near_slots *near_ = nullptr;
    std::span<std::byte> stage_;
    bool done_ = false;
    std::atomic<unsigned> asked_ = 0;
    std::atomic<unsigned> answered_ = 0;
    std::jthread thread_;
};

// On the CPU of whoever asks, or on the next one.
template <int Distance>
void by_thread(benchmark::State &state)
{
    cpu_set_t all;
    ::sched_getaffinity(0, sizeof(all), &all);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(0, &here);
    ::sched_setaffinity(0, sizeof(here), &here);
    {
        reading_thread reader{Distance};
        run(state, [&reader](far_process &far, near_slots &near, std::span<std::byte> stage) {
            return reader.read(far, near, stage);
        });
    }
    ::sched_setaffinity(0, sizeof(all), &all);
}

BENCHMARK_CAPTURE(run, read_ahead, read_ahead)->Arg(1)->Arg(5)->Arg(10)->Arg(20);
BENCHMARK(by_thread<0>)->Name("read_by_thread/same_cpu")->Arg(1)->Arg(5)->Arg(10)->Arg(20)->UseRealTime();
BENCHMARK(by_thread<1>)->Name("read_by_thread/next_cpu")->Arg(1)->Arg(5)->Arg(10)->Arg(20)->UseRealTime();
BENCHMARK_CAPTURE(run, write_gathered, write_gathered)->Arg(1)->Arg(5)->Arg(10)->Arg(20);
BENCHMARK_CAPTURE(run, process_vm_readv, by_process_vm<::process_vm_readv>)->Arg(1)->Arg(5)->Arg(10)->Arg(20);
BENCHMARK_CAPTURE(run, process_vm_writev, by_process_vm<::process_vm_writev>)->Arg(1)->Arg(5)->Arg(10)->Arg(20);

} // namespace

int main(int argc, char **argv)
{
    return run_benchmarks(argc, argv);
}
