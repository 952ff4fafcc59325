// SPDX-License-Identifier: Apache-2.0
// Sends and receives: all sizes, slots in any order, from any rank, both ways at once, from several threads; buffers
// that are bound to a pair; contexts made over another one.
#include <array>
#include <thread>

#include "gloo/rank.h"

namespace mrc::gloo_test
{

namespace
{

using gloo_context = std::shared_ptr<gloo::rendezvous::Context>;
using bytes = std::vector<std::uint8_t>;

constexpr std::size_t sizes[] = {0, 1, 8, 4055, 4056, 4057, 4096, 65536, 1000003, 6000000};

std::vector<int> others(const rank_options &options)
{
    std::vector<int> found;
    for (int i = 0; i < options.size; ++i)
        if (i != options.rank)
            found.push_back(i);
    return found;
}

struct transfer {
    bytes memory;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
};

transfer make(const gloo_context &context, bytes memory)
{
    transfer made{.memory = std::move(memory), .buffer = {}};
    made.buffer = context->createUnboundBuffer(made.memory.data(), made.memory.size());
    return made;
}

// Everybody exchanges each size with everybody; receives are posted in the opposite order of the sends.
void all_sizes(const gloo_context &context, const rank_options &options, bool receive_first, std::uint64_t base)
{
    std::vector<transfer> sends;
    std::vector<transfer> receives;
    std::vector<std::pair<int, std::uint64_t>> from;
    const auto post_receives = [&] {
        for (std::size_t i = std::size(sizes); i-- > 0;)
            for (const int peer : others(options)) {
                receives.push_back(make(context, bytes(sizes[i])));
                from.emplace_back(peer, i);
                receives.back().buffer->recv(peer, base + i);
            }
    };
    if (receive_first)
        post_receives();
    for (std::size_t i = 0; i < std::size(sizes); ++i)
        for (const int peer : others(options)) {
            sends.push_back(make(context, filled(options.rank, peer, base + i, sizes[i])));
            sends.back().buffer->send(peer, base + i);
        }
    if (!receive_first)
        post_receives();
    for (std::size_t i = 0; i < receives.size(); ++i) {
        int rank = -1;
        check(receives[i].buffer->waitRecv(&rank) && rank == from[i].first, "a receive completes, by its rank");
        check(receives[i].memory == filled(rank, options.rank, base + from[i].second, receives[i].memory.size()),
              "every byte of " + std::to_string(receives[i].memory.size()) + " is right");
    }
    for (transfer &one : sends)
        check(one.buffer->waitSend(), "a send completes");
}

// Rank 0 receives from whoever comes; many of one slot, in the order of each sender.
void from_any(const gloo_context &context, const rank_options &options)
{
    constexpr std::uint64_t slot = 5000;
    constexpr int each = 40;
    if (options.rank != 0) {
        for (int i = 0; i < each; ++i) {
            transfer one =
                make(context, filled(options.rank, 0, static_cast<std::uint64_t>(i), i % 3 == 0 ? 9000 : 64));
            one.buffer->send(0, slot);
            check(one.buffer->waitSend(), "a send to a receive from any completes");
        }
        return;
    }
    std::vector<int> seen(static_cast<std::size_t>(options.size), 0);
    for (int i = 0; i < each * (options.size - 1); ++i) {
        transfer one = make(context, bytes(9000));
        int rank = -1;
        one.buffer->recv(others(options), slot);
        check(one.buffer->waitRecv(&rank) && rank > 0, "a receive from any completes");
        const int nth = seen.at(static_cast<std::size_t>(rank))++;
        const bytes wanted = filled(rank, 0, static_cast<std::uint64_t>(nth), nth % 3 == 0 ? 9000 : 64);
        check(std::equal(wanted.begin(), wanted.end(), one.memory.begin()), "in the order of its sender");
    }
    for (const int peer : others(options))
        check(seen.at(static_cast<std::size_t>(peer)) == each, "from each rank as many as it sent");
}

// More messages at once than the ring has room for, both ways.
void flood(const gloo_context &context, const rank_options &options)
{
    constexpr std::size_t many = 500;
    std::vector<transfer> all;
    all.reserve(many * others(options).size());
    for (std::size_t i = 0; i < many; ++i)
        for (const int peer : others(options)) {
            all.push_back(make(context, filled(options.rank, peer, i, 100)));
            all.back().buffer->send(peer, 6000);
        }
    for (std::size_t i = 0; i < many; ++i)
        for (const int peer : others(options)) {
            transfer one = make(context, bytes(100));
            one.buffer->recv(peer, 6000);
            check(one.buffer->waitRecv(), "a message of a flood arrives");
            check(one.memory == filled(peer, options.rank, i, 100), "in its turn");
        }
    for (transfer &one : all)
        check(one.buffer->waitSend(), "all of a flood are sent");
}

void threads(const gloo_context &context, const rank_options &options)
{
    constexpr std::uint64_t count = 4;
    std::vector<std::jthread> running;
    running.reserve(count);
    for (std::uint64_t thread = 0; thread < count; ++thread)
        running.emplace_back([&, thread] {
            for (std::uint64_t round = 0; round < 30; ++round)
                for (const int peer : others(options)) {
                    const std::uint64_t slot = 100000 + thread * 1000 + round;
                    transfer out = make(context, filled(options.rank, peer, slot, 3000 + round * 500));
                    transfer in = make(context, bytes(out.memory.size()));
                    in.buffer->recv(peer, slot);
                    out.buffer->send(peer, slot);
                    check(in.buffer->waitRecv() && out.buffer->waitSend(), "a thread's exchange completes");
                    check(in.memory == filled(peer, options.rank, slot, in.memory.size()), "with its own bytes");
                }
        });
}

void parts_of_buffers(const gloo_context &context, const rank_options &options)
{
    const int next = (options.rank + 1) % options.size;
    const int last = (options.rank + options.size - 1) % options.size;
    transfer out = make(context, filled(options.rank, 0, 7, 3000000));
    transfer in = make(context, bytes(3000000));
    for (std::size_t part = 0; part < 3; ++part) {
        in.buffer->recv(last, 7000, part * 1000000, 1000000);
        out.buffer->send(next, 7000, part * 1000000, 1000000);
    }
    for (int part = 0; part < 3; ++part)
        check(in.buffer->waitRecv() && out.buffer->waitSend(), "parts of a buffer are exchanged");
    check(in.memory == filled(last, 0, 7, 3000000), "each to its place");
}

void bound_buffers(const gloo_context &context, const rank_options &options)
{
    for (const int peer : others(options)) {
        bytes from = filled(options.rank, peer, 9, 100000);
        bytes into(100000);
        auto receive = context->getPair(peer)->createRecvBuffer(3, into.data(), into.size());
        auto send = context->getPair(peer)->createSendBuffer(3, from.data(), from.size());
        send->send(0, 60000, 40000);
        send->send(60000, 40000, 0);
        receive->waitRecv();
        receive->waitRecv();
        send->waitSend();
        send->waitSend();
        const bytes sent = filled(peer, options.rank, 9, 100000);
        check(std::equal(into.begin(), into.begin() + 40000, sent.begin() + 60000) &&
                  std::equal(into.begin() + 40000, into.end(), sent.begin()),
              "bound buffers are written at their offsets");
        std::uint64_t out = 1;
        std::array<std::uint64_t, 2> in{};
        auto small_receive = context->getPair(peer)->createRecvBuffer(4, in.data(), sizeof(in));
        auto small_send = context->getPair(peer)->createSendBuffer(4, &out, sizeof(out));
        small_send->send(0, sizeof(out), 0);
        out = 2; // without a wait: the first is on its way as it was
        small_send->send(0, sizeof(out), sizeof(out));
        small_receive->waitRecv();
        small_receive->waitRecv();
        check(in[0] == 1 && in[1] == 2, "short sends of bound buffers are copied when they are posted");
    }
}

} // namespace

void test_messages(const rank_options &options)
{
    auto device = gloo_adapter::create_device();
    {
        const gloo_context context = connected(options, device, std::chrono::seconds{30});
        all_sizes(context, options, true, 0);
        all_sizes(context, options, false, 100);
        say("sizes");
        from_any(context, options);
        say("from any");
        flood(context, options);
        say("flood");
        threads(context, options);
        say("threads");
        parts_of_buffers(context, options);
        bound_buffers(context, options);
        say("buffers");
        gloo::rendezvous::ContextFactory factory{context};
        const auto second = factory.makeContext(device);
        all_sizes(std::static_pointer_cast<gloo::rendezvous::Context>(second), options, false, 0);
        say("second context");
    }
    const gloo_context again = connected(options, device, std::chrono::seconds{30}, "again");
    all_sizes(again, options, true, 0);
    say("third context");
}

} // namespace mrc::gloo_test
