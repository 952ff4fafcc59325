// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/measure.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace mrc::collectives
{

namespace
{

constexpr std::uint64_t batch_bytes = 4 << 20;
constexpr std::uint32_t largest_batch = 16;

// Microseconds of one result.
double time_batch(operation &one, const group &all, std::uint64_t round, std::size_t results)
{
    for (std::size_t slot = 0; slot < results; ++slot)
        one.prepare(slot, round + slot);
    all.barrier();
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t slot = 0; slot < results; ++slot)
        one.run(slot);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    return took.count() / static_cast<double>(results);
}

void verify(const operation &one, collective what, std::uint64_t round, std::size_t results)
{
    for (std::size_t slot = 0; slot < results; ++slot)
        if (const auto wrong = one.check(slot, round + slot))
            throw std::runtime_error{
                fmt::format("{} of {} bytes: result {} is wrong: byte {} begins {:#010x}, and has to "
                            "be {:#010x}",
                            name_of(what), one.words() * sizeof(word), round + slot, wrong->index * sizeof(word),
                            wrong->found, wrong->wanted)};
}

double median_of(std::vector<double> sorted)
{
    std::ranges::sort(sorted);
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

} // namespace

std::uint32_t batch_of(std::uint64_t bytes, std::uint32_t results)
{
    const auto fitting = std::clamp<std::uint64_t>(batch_bytes / std::max<std::uint64_t>(bytes, 1), 1, largest_batch);
    return std::min(static_cast<std::uint32_t>(fitting), results);
}

collective_times measure(collective what, std::uint64_t bytes, const collectives_options &chosen, const group &all,
                         buffers &memory)
{
    const std::size_t words = words_of(what, bytes, all.ranks());
    collective_times found{.what = what, .bytes = words * sizeof(word), .results = chosen.iterations_of(bytes)};
    const std::uint32_t batch = batch_of(found.bytes, found.results);
    memory.provide(words * batch);
    const auto one = make_operation(what, all, memory, words, batch);

    std::uint64_t round = 0;
    const auto next_batch = [&](std::uint32_t results) {
        const double took = time_batch(*one, all, round, results);
        verify(*one, what, round, results);
        round += results;
        return took;
    };
    static_cast<void>(next_batch(batch)); // memory is registered, and paths known
    std::vector<double> times;
    for (std::uint32_t left = found.results; left > 0;) {
        const std::uint32_t results = std::min(batch, left);
        times.push_back(next_batch(results));
        left -= results;
    }
    all.greatest(times);
    found.median_us = median_of(times);
    found.least_us = std::ranges::min(times);
    found.most_us = std::ranges::max(times);
    found.verified_bytes = all.sum(round * one->result_words() * sizeof(word));
    return found;
}

} // namespace mrc::collectives
