// SPDX-License-Identifier: Apache-2.0
//
// BPF_PROG_TEST_RUN for tests: one packet through one program, and what came out. The kernel runs the program without a
// device: a redirect is reported as its verdict, nothing is sent.
#ifndef MRC_TESTS_BPF_PROG_RUN_H
#define MRC_TESTS_BPF_PROG_RUN_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mrc::test
{

// Longest frame handed in or out; above one page the kernel builds a multi-buffer packet (programs of "xdp.frags"
// only).
constexpr std::size_t prog_run_max_bytes = 65536;

struct prog_run_options {
    int repeat = 1;
    std::span<const std::uint8_t> metadata; // XDP only: bytes in front of the packet, a multiple of 4
    std::uint32_t ingress_ifindex = 0;      // XDP only: 0 = loopback of the current namespace
};

struct prog_run_result {
    int error = 0; // errno of the call itself
    std::uint32_t verdict = 0;
    std::vector<std::uint8_t> packet;
    std::uint32_t metadata_bytes = 0; // XDP with metadata: `packet` begins with this many bytes of it
    std::uint32_t ns = 0;             // mean over `repeat`
};

// Any program type without a context in (TC), or XDP with the defaults.
inline prog_run_result run_prog(int prog_fd, std::span<const std::uint8_t> packet, int repeat = 1)
{
    std::vector<std::uint8_t> out(prog_run_max_bytes);
    LIBBPF_OPTS(bpf_test_run_opts, opts);
    opts.data_in = packet.data();
    opts.data_size_in = static_cast<__u32>(packet.size());
    opts.data_out = out.data();
    opts.data_size_out = static_cast<__u32>(out.size());
    opts.repeat = repeat;

    prog_run_result result;
    if (const int error = bpf_prog_test_run_opts(prog_fd, &opts); error != 0) {
        result.error = -error;
        return result;
    }
    out.resize(opts.data_size_out);
    result.verdict = opts.retval;
    result.packet = std::move(out);
    result.ns = opts.duration;
    return result;
}

// XDP with a context: `packet` goes in behind `options.metadata`, and comes out behind what the program left there.
inline prog_run_result run_xdp(int prog_fd, std::span<const std::uint8_t> packet, const prog_run_options &options)
{
    std::vector<std::uint8_t> in(options.metadata.begin(), options.metadata.end());
    in.insert(in.end(), packet.begin(), packet.end());
    std::vector<std::uint8_t> out(prog_run_max_bytes);
    xdp_md context_in{};
    xdp_md context_out{};
    context_in.data = static_cast<__u32>(options.metadata.size());
    context_in.data_end = static_cast<__u32>(in.size());
    context_in.ingress_ifindex = options.ingress_ifindex;
    LIBBPF_OPTS(bpf_test_run_opts, opts);
    opts.data_in = in.data();
    opts.data_size_in = static_cast<__u32>(in.size());
    opts.data_out = out.data();
    opts.data_size_out = static_cast<__u32>(out.size());
    opts.ctx_in = &context_in;
    opts.ctx_size_in = sizeof(context_in);
    opts.ctx_out = &context_out;
    opts.ctx_size_out = sizeof(context_out);
    opts.repeat = options.repeat;

    prog_run_result result;
    if (const int error = bpf_prog_test_run_opts(prog_fd, &opts); error != 0) {
        result.error = -error;
        return result;
    }
    out.resize(opts.data_size_out);
    result.verdict = opts.retval;
    result.packet = std::move(out);
    result.metadata_bytes = context_out.data;
    result.ns = opts.duration;
    return result;
}

// Median over `runs` of the kernel's own mean over `repeat`. A program that rewrites its packet sees its own output on
// the next repeat: choose a packet and `repeat` for which the path stays the same (hop limits, carriers).
inline std::uint32_t ns_per_packet(int prog_fd, std::span<const std::uint8_t> packet, int repeat, int runs = 101)
{
    std::vector<std::uint32_t> samples;

    for (int i = 0; i < runs; i++)
        samples.push_back(run_prog(prog_fd, packet, repeat).ns);
    std::ranges::nth_element(samples, samples.begin() + runs / 2);
    return samples[static_cast<std::size_t>(runs) / 2];
}

// Mean time of a program's runs while this object lives, by the kernel's run-time statistics. Includes reading the
// clock twice, about 20 ns.
class run_time
{
public:
    explicit run_time(int prog_fd) : prog_fd_(prog_fd), statistics_(bpf_enable_stats(BPF_STATS_RUN_TIME)), start_(now())
    {
    }
    run_time(const run_time &) = delete;
    run_time &operator=(const run_time &) = delete;
    ~run_time()
    {
        if (statistics_ >= 0)
            close(statistics_);
    }

    [[nodiscard]] std::uint32_t ns_per_run() const
    {
        const bpf_prog_info end = now();
        const std::uint64_t runs = end.run_cnt - start_.run_cnt;

        return runs > 0 ? static_cast<std::uint32_t>((end.run_time_ns - start_.run_time_ns) / runs) : 0;
    }

private:
    [[nodiscard]] bpf_prog_info now() const
    {
        bpf_prog_info info{};
        __u32 size = sizeof(info);

        bpf_obj_get_info_by_fd(prog_fd_, &info, &size);
        return info;
    }

    int prog_fd_;
    int statistics_;
    bpf_prog_info start_;
};

// For programs that change the packet's shape, which `repeat` would feed back: the mean of many single runs. Each comes
// from a system call, so caches are colder than under load.
inline std::uint32_t timed_ns_per_run(int prog_fd, std::span<const std::uint8_t> packet, int runs = 20000)
{
    const run_time time(prog_fd);
    LIBBPF_OPTS(bpf_test_run_opts, opts);
    opts.data_in = packet.data();
    opts.data_size_in = static_cast<__u32>(packet.size());

    for (int i = 0; i < runs; i++)
        bpf_prog_test_run_opts(prog_fd, &opts);
    return time.ns_per_run();
}

inline std::string hex(std::span<const std::uint8_t> bytes)
{
    std::string text;
    std::array<char, 4> pair{};

    for (const std::uint8_t byte : bytes) {
        std::snprintf(pair.data(), pair.size(), "%02x", byte);
        text += pair.data();
    }
    return text;
}

// Equal, or the lengths and each 16-byte line that differs.
inline testing::AssertionResult same_bytes(std::span<const std::uint8_t> expected, std::span<const std::uint8_t> actual)
{
    if (std::ranges::equal(expected, actual))
        return testing::AssertionSuccess();
    auto failure = testing::AssertionFailure();
    failure << "expected " << expected.size() << " bytes, got " << actual.size();
    const std::size_t longest = std::max(expected.size(), actual.size());
    const auto line_of = [](std::span<const std::uint8_t> all, std::size_t at) {
        return at < all.size() ? all.subspan(at, std::min<std::size_t>(16, all.size() - at)) : all.subspan(0, 0);
    };
    for (std::size_t at = 0; at < longest; at += 16) {
        const auto want = line_of(expected, at);
        const auto got = line_of(actual, at);
        if (!std::ranges::equal(want, got))
            failure << "\n  at " << at << ": expected " << hex(want) << "\n  "
                    << std::string(std::to_string(at).size(), ' ') << "         got " << hex(got);
    }
    return failure;
}

// Sum over all CPUs of one row of a per-CPU array of __u64, or -1 when it cannot be read.
inline std::int64_t per_cpu_sum(int map_fd, std::uint32_t row)
{
    const int cpus = libbpf_num_possible_cpus();

    if (cpus <= 0)
        return -1;
    std::vector<std::uint64_t> values(static_cast<std::size_t>(cpus));
    if (bpf_map_lookup_elem(map_fd, &row, values.data()) != 0)
        return -1;
    std::uint64_t sum = 0;
    for (const std::uint64_t value : values)
        sum += value;
    return static_cast<std::int64_t>(sum);
}

// Tests that need root and BPF print the reason and skip without it (ctest: SKIP_RETURN_CODE 77 is for commands).
inline bool may_load_bpf()
{
    return geteuid() == 0;
}

} // namespace mrc::test

#endif
