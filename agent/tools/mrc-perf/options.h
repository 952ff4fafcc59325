// SPDX-License-Identifier: Apache-2.0
// What mrc-perf was asked for on the command line, and the part of it that both ends of a run must know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrc::perf
{

enum class test_mode : std::uint8_t {
    write,   // as many WRITEs as the window allows
    latency, // ping-pong
    file,    // the bytes of a file
};

enum class memory_kind : std::uint8_t {
    shared,  // with the daemon: it copies by itself
    process, // the program's own, which the kernel copies for the daemon
};

[[nodiscard]] const char *memory_name(memory_kind kind); // as --memory has it

struct test_plan {
    test_mode mode = test_mode::write;
    std::uint64_t size = 1 << 20; // bytes per message
    std::uint32_t qps = 1;
    std::uint32_t window = 32;  // messages outstanding per queue pair
    std::uint64_t messages = 0; // per direction; 0: until `seconds` are over
    std::uint32_t seconds = 0;
    std::uint64_t file_bytes = 0;  // of --file
    std::uint32_t interval_ms = 0; // 0: no samples
    bool bidir = false;
    bool verify = false;
    bool events = false;       // latency: ends sleep until a message has arrived
    std::uint32_t rate = 0;    // messages a second per direction; 0: as many as go
    std::uint32_t timeout = 8; // retries of a packet: 1.024 us * 2^timeout, `linear` times, then doubling
    std::uint32_t linear = 7;
    std::uint32_t exponential = 14; // about 8.6 s until a dead peer is reported
    memory_kind memory = memory_kind::shared;
    std::vector<std::uint64_t> sizes; // of a sweep: a run each; then `window` may be 0, which is each size's default

    // Messages are consumed one by one at the receiver, so the sender waits for credit.
    [[nodiscard]] bool checked() const { return verify || mode == test_mode::file; }
    [[nodiscard]] std::uint64_t slot_bytes() const { return (size + 63) / 64 * 64; }
    [[nodiscard]] std::uint64_t slots() const { return std::uint64_t{window} * qps; }
    [[nodiscard]] std::uint64_t memory_bytes() const { return slot_bytes() * slots(); }
    // Bytes of one message: all are full but the last of a file.
    [[nodiscard]] std::uint64_t message_bytes(std::uint64_t index) const;
    // What is to be run, one after the other: the plan itself, or one for each size of a sweep.
    [[nodiscard]] std::vector<test_plan> runs() const;
    // Messages outstanding by default.
    [[nodiscard]] std::uint32_t default_window() const;
};

struct options {
    std::string host; // empty: server
    std::uint16_t port = 18515;
    std::string device; // verbs name; empty: the only one
    std::string file;
    std::string output;      // server: where a received file goes
    std::string percentiles; // where those of a latency test go
    bool once = false;
    bool json = false;
    test_plan plan;
};

inline constexpr std::uint64_t largest_message = std::uint64_t{1} << 31;
inline constexpr std::uint64_t largest_memory = std::uint64_t{4} << 30; // registered per direction
inline constexpr std::uint32_t most_qps = 4096;
inline constexpr std::uint32_t largest_window = 4096;
inline constexpr std::uint32_t highest_rate = 100'000'000; // messages a second

// The options, or the exit status of a command line that ends here (--help, --version, an error that was printed).
struct command_line {
    options chosen;
    std::optional<int> exit_status;
};
[[nodiscard]] command_line parse_command_line(int argc, char **argv);

} // namespace mrc::perf
