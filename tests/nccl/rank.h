// SPDX-License-Identifier: Apache-2.0
// One rank of a test: connections to all others, by handles in files, and what its proxy does with them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/net.h"
#include "nccl/wait_until.h"

namespace mrc::nccl_test
{

struct rank_options {
    int rank = 0;
    int size = 0;
    std::string folder; // for handles
    int count = 0;      // rounds
};

inline void check(bool condition, std::string_view what)
{
    if (condition)
        return;
    std::fprintf(stderr, "FAIL: %.*s\n", static_cast<int>(what.size()), what.data());
    std::exit(1);
}

// A line for whoever runs the ranks.
inline void say(const std::string &what)
{
    std::printf("%s\n", what.c_str());
    std::fflush(stdout);
}

// A file that another rank waits for.
void publish(const rank_options &options, const std::string &name, std::span<const std::byte> content = {});
[[nodiscard]] bool published(const rank_options &options, const std::string &name);
void wait_for(const rank_options &options, const std::string &name);

// Byte `at` of what a purpose `what` needs.
inline std::uint8_t pattern(std::uint64_t what, std::size_t at)
{
    return static_cast<std::uint8_t>(what * 37 + at * 7 + at / 251);
}

// Memory that is registered with one connection.
class buffer
{
public:
    buffer(const net &by, void *connection, std::size_t bytes);
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    ~buffer();

    void fill(std::uint64_t what);
    [[nodiscard]] bool holds(std::uint64_t what, std::size_t bytes) const;
    [[nodiscard]] receive_order order(std::size_t bytes, int tag = 0) { return {at(0), bytes, tag, memory_}; }
    [[nodiscard]] std::byte *at(std::size_t offset) { return bytes_.data() + offset; }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] void *memory() const { return memory_; }

private:
    const net &net_;
    void *connection_;
    std::vector<std::byte> bytes_;
    void *memory_ = nullptr;
};

// Connections of one communicator to every other rank, `channels` each way.
class mesh
{
public:
    mesh(const net &by, const rank_options &options, const std::string &name, int channels = 1);
    mesh(const mesh &) = delete;
    mesh &operator=(const mesh &) = delete;
    ~mesh();

    [[nodiscard]] void *to(int peer, int channel = 0) const { return senders_.at({peer, channel}); }
    [[nodiscard]] void *from(int peer, int channel = 0) const { return receivers_.at({peer, channel}); }

private:
    using place = std::pair<int, int>; // peer, channel

    const net &net_;
    std::map<place, void *> senders_;
    std::map<place, void *> receivers_;
};

// A part of an operation as the proxy has it: slices, eight under way at most.
struct transfer {
    static constexpr std::size_t steps = 8;
    static constexpr std::size_t slice = 512 << 10;

    void *connection = nullptr;
    buffer *memory = nullptr;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool sends = false;
    int tag = 0;
    std::deque<std::pair<void *, std::size_t>> under_way{}; // and its bytes
    std::size_t posted = 0;                                 // bytes
    std::uint64_t refused = 0;                              // times that a request was null

    // False once all is done.
    bool progress(const net &by);
};

// All of them, side by side.
void complete(const net &by, std::vector<transfer> all);

// Sum over all ranks, by a ring; every element is checked. `seed` makes the numbers.
void all_reduce(const net &by, const mesh &links, const rank_options &options, int channel, std::uint64_t seed);
// A block for each, of another length for each pair; grouped receives, tags in another order than sends.
void all_to_all(const net &by, const mesh &links, const rank_options &options, int channel, std::uint64_t seed);

void test_messages(const rank_options &options);
void test_collectives(const rank_options &options);
// Until something fails, in the middle of collectives, or of receives that nobody sends to.
void test_busy(const rank_options &options);
void test_waiting(const rank_options &options);
// This rank takes part in the same, closes its connections when its standard input ends, and stays.
void test_leaver(const rank_options &options);

} // namespace mrc::nccl_test
