// SPDX-License-Identifier: Apache-2.0
// Collectives as NCCL's proxy threads carry them: several communicators with a thread each, several channels.
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>

#include "nccl/rank.h"

namespace mrc::nccl_test
{

namespace
{

constexpr int communicators = 2;
constexpr int channels = 2;
constexpr std::size_t part_bytes = 10 * transfer::slice + 4096; // of a ring's step
constexpr std::size_t part_numbers = part_bytes / sizeof(std::uint32_t);
constexpr std::size_t at_once = 4;

std::uint32_t number(std::uint64_t seed, int rank, std::size_t at)
{
    return static_cast<std::uint32_t>(seed * 2654435761U + static_cast<std::uint64_t>(rank) * 40503U + at * 69069U);
}

std::uint32_t read(buffer &from, std::size_t at)
{
    std::uint32_t value = 0;
    std::memcpy(&value, from.at(at * sizeof(value)), sizeof(value));
    return value;
}

void write(buffer &to, std::size_t at, std::uint32_t value)
{
    std::memcpy(to.at(at * sizeof(value)), &value, sizeof(value));
}

std::size_t block_bytes(int from, int to, std::size_t which)
{
    return 3 * transfer::slice / 4 * which + static_cast<std::size_t>(from) * 1001 + static_cast<std::size_t>(to) * 13 +
           1;
}

std::uint64_t block_pattern(std::uint64_t seed, int from, int to, std::size_t which)
{
    return seed * 1000 + static_cast<std::uint64_t>(from) * 100 + static_cast<std::uint64_t>(to) * 10 + which;
}

// What the ranks exchange with one of the others.
struct exchange {
    int peer;
    std::vector<std::unique_ptr<buffer>> sources;
    std::vector<std::unique_ptr<buffer>> targets;
    std::vector<void *> sends = std::vector<void *>(at_once);
    std::size_t begun = 0;
    std::size_t sent = 0;
    void *receive = nullptr;
};

} // namespace

void all_reduce(const net &by, const mesh &links, const rank_options &options, int channel, std::uint64_t seed)
{
    const int size = options.size;
    void *next = links.to((options.rank + 1) % size, channel);
    void *previous = links.from((options.rank + size - 1) % size, channel);
    buffer data{by, next, part_bytes * static_cast<std::size_t>(size)};
    buffer arrived{by, previous, data.size()};
    for (std::size_t i = 0; i < part_numbers * static_cast<std::size_t>(size); ++i)
        write(data, i, number(seed, options.rank, i));
    const auto part = [&](int which) { return static_cast<std::size_t>(((which % size) + size) % size); };
    for (int step = 0; step < 2 * (size - 1); ++step) {
        const bool adds = step < size - 1;
        const std::size_t out = part(options.rank - step);
        const std::size_t in = part(options.rank - step - 1);
        complete(by,
                 {{.connection = next, .memory = &data, .offset = out * part_bytes, .bytes = part_bytes, .sends = true},
                  {.connection = previous, .memory = &arrived, .offset = in * part_bytes, .bytes = part_bytes}});
        for (std::size_t i = in * part_numbers; i < (in + 1) * part_numbers; ++i)
            write(data, i, adds ? read(data, i) + read(arrived, i) : read(arrived, i));
    }
    for (std::size_t i = 0; i < part_numbers * static_cast<std::size_t>(size); ++i) {
        std::uint32_t sum = 0;
        for (int rank = 0; rank < size; ++rank)
            sum += number(seed, rank, i);
        if (read(data, i) != sum) // most are right: no words for them
            check(false, "all-reduce, seed " + std::to_string(seed) + ", number " + std::to_string(i));
    }
}

void all_to_all(const net &by, const mesh &links, const rank_options &options, int channel, std::uint64_t seed)
{
    std::vector<exchange> all;
    for (int peer = 0; peer < options.size; ++peer) {
        if (peer == options.rank)
            continue;
        exchange &one = all.emplace_back();
        one.peer = peer;
        for (std::size_t which = 0; which < at_once; ++which) {
            one.sources.push_back(
                std::make_unique<buffer>(by, links.to(peer, channel), block_bytes(options.rank, peer, which)));
            one.sources.back()->fill(block_pattern(seed, options.rank, peer, which));
            one.targets.push_back(
                std::make_unique<buffer>(by, links.from(peer, channel), block_bytes(peer, options.rank, which)));
        }
    }
    until([&] {
        bool more = false;
        for (exchange &one : all) {
            if (one.receive == nullptr && one.begun < at_once) {
                std::array<receive_order, at_once> orders;
                for (std::size_t which = 0; which < at_once; ++which)
                    orders.at(which) = one.targets[which]->order(one.targets[which]->size(), static_cast<int>(which));
                one.receive = by.receive(links.from(one.peer, channel), orders);
            }
            if (one.begun < at_once) {
                const std::size_t which = (one.begun + seed) % at_once;
                buffer &source = *one.sources[which];
                one.sends[one.begun] = by.send(links.to(one.peer, channel), source.at(0), source.size(),
                                               static_cast<int>(which), source.memory());
                one.begun += one.sends[one.begun] != nullptr ? 1 : 0;
            }
            while (one.sent < one.begun && by.test(one.sends[one.sent]))
                ++one.sent;
            if (one.receive != nullptr && one.sent == at_once && by.test(one.receive))
                one.receive = nullptr;
            more = more || one.sent < at_once || one.receive != nullptr;
        }
        return !more;
    });
    for (const exchange &one : all)
        for (std::size_t which = 0; which < at_once; ++which)
            check(one.targets[which]->holds(block_pattern(seed, one.peer, options.rank, which),
                                            one.targets[which]->size()),
                  "all-to-all, seed " + std::to_string(seed));
}

void test_collectives(const rank_options &options)
{
    std::array<std::atomic<int>, communicators> rounds{};
    std::vector<std::jthread> proxies;
    proxies.reserve(communicators);
    for (int which = 0; which < communicators; ++which)
        proxies.emplace_back([&, which] {
            try {
                const net by{12 - which};
                const mesh links{by, options, "communicator" + std::to_string(which), channels};
                for (int round = 0; round < options.count; ++round) {
                    for (int channel = 0; channel < channels; ++channel) {
                        const auto seed = static_cast<std::uint64_t>(which) * 1000 +
                                          static_cast<std::uint64_t>(round) * 10 + static_cast<std::uint64_t>(channel);
                        all_reduce(by, links, options, channel, seed);
                        all_to_all(by, links, options, channel, seed);
                    }
                    ++rounds.at(static_cast<std::size_t>(which));
                    if (which == 0)
                        say("round " + std::to_string(round));
                }
            } catch (const std::exception &failure) {
                check(false, failure.what());
            }
        });
    proxies.clear();
    for (const auto &done : rounds)
        check(done == options.count, "every round");
    say("all rounds");
}

} // namespace mrc::nccl_test
