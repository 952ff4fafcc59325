// SPDX-License-Identifier: Apache-2.0
// Gloo's collectives, verified, round after round.
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include "gloo/rank.h"

namespace mrc::gloo_test
{

namespace
{

using context_handle = std::shared_ptr<gloo::rendezvous::Context>;
using numbers = std::vector<std::int64_t>;

std::int64_t value(int rank, std::size_t at, std::int64_t round)
{
    return std::int64_t{rank + 1} * 1000003 + static_cast<std::int64_t>(at) * 7 + round;
}

numbers own(int rank, std::size_t count, std::int64_t round)
{
    numbers made(count);
    for (std::size_t i = 0; i < count; ++i)
        made[i] = value(rank, i, round);
    return made;
}

bool is_sum(const numbers &all, int size, std::int64_t round)
{
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::int64_t wanted = 0;
        for (int rank = 0; rank < size; ++rank)
            wanted += value(rank, i, round);
        if (all[i] != wanted)
            return false;
    }
    return true;
}

void all_reduce(const context_handle &context, std::size_t count, std::int64_t round,
                gloo::AllreduceOptions::Algorithm algorithm)
{
    numbers mine = own(context->rank, count, round);
    gloo::AllreduceOptions options{context};
    options.setOutput(mine.data(), mine.size());
    options.setAlgorithm(algorithm);
    options.setReduceFunction(
        [](void *to, const void *a, const void *b, std::size_t n) { gloo::sum<std::int64_t>(to, a, b, n); });
    gloo::allreduce(options);
    check(is_sum(mine, context->size, round), "all-reduce of " + std::to_string(count));
}

void all_gather(const context_handle &context, std::size_t count, std::int64_t round)
{
    numbers mine = own(context->rank, count, round);
    numbers all(count * static_cast<std::size_t>(context->size));
    gloo::AllgatherOptions options{context};
    options.setInput(mine.data(), mine.size());
    options.setOutput(all.data(), all.size());
    gloo::allgather(options);
    for (int rank = 0; rank < context->size; ++rank)
        check(numbers(all.begin() + static_cast<std::ptrdiff_t>(count) * rank,
                      all.begin() + static_cast<std::ptrdiff_t>(count) * (rank + 1)) == own(rank, count, round),
              "all-gather of " + std::to_string(count));
}

void all_to_all(const context_handle &context, std::size_t count, std::int64_t round)
{
    const auto size = static_cast<std::size_t>(context->size);
    numbers out(count * size);
    numbers in(count * size);
    for (std::size_t i = 0; i < out.size(); ++i) // part p of rank r: value(r, p)
        out[i] = value(context->rank, i / count, round);
    gloo::AlltoallOptions options{context};
    options.setInput(out.data(), out.size());
    options.setOutput(in.data(), in.size());
    gloo::alltoall(options);
    for (std::size_t i = 0; i < in.size(); ++i)
        check(in[i] == value(static_cast<int>(i / count), static_cast<std::size_t>(context->rank), round),
              "all-to-all of " + std::to_string(count));
}

void broadcast(const context_handle &context, std::size_t count, std::int64_t round)
{
    const int root = static_cast<int>(round) % context->size;
    numbers all = context->rank == root ? own(root, count, round) : numbers(count);
    gloo::BroadcastOptions options{context};
    options.setOutput(all.data(), all.size());
    options.setRoot(root);
    gloo::broadcast(options);
    check(all == own(root, count, round), "broadcast of " + std::to_string(count));
}

void barrier(const context_handle &context)
{
    gloo::BarrierOptions options{context};
    gloo::barrier(options);
}

// Algorithms on buffers that are bound to pairs.
void older(const context_handle &context, std::int64_t round)
{
    numbers mine = own(context->rank, 50000, round);
    gloo::AllreduceRingChunked<std::int64_t>{context, {mine.data()}, static_cast<int>(mine.size())}.run();
    check(is_sum(mine, context->size, round), "all-reduce in a chunked ring");
    mine = own(context->rank, 50000, round);
    gloo::AllreduceHalvingDoubling<std::int64_t>{context, {mine.data()}, static_cast<int>(mine.size())}.run();
    check(is_sum(mine, context->size, round), "all-reduce by halving and doubling");
}

// All-reduces until one fails, as it must when a rank is killed; `options.count` is the time-out in milliseconds. Then
// what has failed is kept until `afterwards` returns.
void until_failure(const rank_options &options, void (*afterwards)())
{
    using clock = std::chrono::steady_clock;
    auto device = gloo_adapter::create_device();
    const auto context = connected(options, device, std::chrono::milliseconds{options.count});
    auto begun = clock::now();
    try {
        for (std::int64_t round = 0;; ++round) {
            begun = clock::now();
            all_reduce(context, 200000, round, gloo::AllreduceOptions::Algorithm::RING);
            if (round == 3)
                say("running");
        }
    } catch (const gloo::IoException &failure) {
        const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begun);
        say("after " + std::to_string(took.count()) + " ms: " + failure.what());
    }
    afterwards();
}

} // namespace

void test_collectives(const rank_options &options)
{
    auto device = gloo_adapter::create_device();
    const auto context = connected(options, device, std::chrono::seconds{30});
    for (std::int64_t round = 0; round < options.count; ++round) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{5000}, std::size_t{300000}}) {
            all_reduce(context, count, round, gloo::AllreduceOptions::Algorithm::RING);
            all_reduce(context, count, round, gloo::AllreduceOptions::Algorithm::BCUBE);
            all_gather(context, count, round);
            all_to_all(context, count, round);
            broadcast(context, count, round);
        }
        older(context, round);
        barrier(context);
        say("round " + std::to_string(round));
    }
}

void test_survivor(const rank_options &options)
{
    until_failure(options, [] {});
}

void test_orphan(const rank_options &options)
{
    until_failure(options, [] {
        while (std::getchar() != EOF) {
        }
    });
}

} // namespace mrc::gloo_test
