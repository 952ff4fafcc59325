// SPDX-License-Identifier: Apache-2.0
// Ranks of a job in which something fails: each says how its own part ends. Then all begin anew, if they are told to.
#include <poll.h>

#include "nccl/rank.h"

namespace mrc::nccl_test
{

namespace
{

void tell(const net_failure &failure)
{
    say("code " + std::to_string(static_cast<int>(failure.code)) + ": " + failure.what());
}

// A line of standard input, or its end, by whoever runs the ranks.
std::string next_word()
{
    std::array<char, 64> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), stdin) == nullptr)
        return {};
    std::string word{line.data()};
    word.pop_back();
    return word;
}

bool input_waits()
{
    pollfd ready{.fd = 0, .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, 0) > 0;
}

void collectives_until_failure(const net &by, const mesh &links, const rank_options &options)
{
    for (std::uint64_t seed = 1;; ++seed) {
        all_reduce(by, links, options, 0, seed);
        all_to_all(by, links, options, 0, seed);
        if (seed == 1)
            say("running");
    }
}

// A receive from each of the others, to which nobody sends.
void wait_until_failure(const net &by, const mesh &links, const rank_options &options)
{
    std::vector<std::unique_ptr<buffer>> targets;
    std::vector<void *> requests;
    all_to_all(by, links, options, 0, 1);
    for (int peer = 0; peer < options.size; ++peer) {
        if (peer == options.rank)
            continue;
        targets.push_back(std::make_unique<buffer>(by, links.from(peer), 4096));
        const receive_order order = targets.back()->order(4096);
        requests.push_back(by.receive(links.from(peer), {&order, 1}));
    }
    say("running");
    until([&] {
        for (void *one : requests)
            check(!by.test(one), "nobody sends");
        return false;
    });
}

template <typename Job>
void run_twice(const rank_options &options, Job job)
{
    {
        const net by{12};
        try {
            const mesh links{by, options, "first"};
            job(by, links);
        } catch (const net_failure &failure) {
            tell(failure);
        }
    }
    say("closed");
    if (next_word() != "again")
        return;
    const net by{12};
    const mesh links{by, options, "second"};
    all_reduce(by, links, options, 0, 99);
    say("again complete");
    (void)next_word();
}

} // namespace

void test_busy(const rank_options &options)
{
    run_twice(options, [&](const net &by, const mesh &links) { collectives_until_failure(by, links, options); });
}

void test_waiting(const rank_options &options)
{
    run_twice(options, [&](const net &by, const mesh &links) { wait_until_failure(by, links, options); });
}

void test_leaver(const rank_options &options)
{
    const net by{12};
    {
        const mesh links{by, options, "first"};
        all_to_all(by, links, options, 0, 1);
        say("running");
        until([] { return input_waits(); });
    }
    say("left");
    (void)next_word();
    (void)next_word();
}

} // namespace mrc::nccl_test
