// SPDX-License-Identifier: Apache-2.0
// What does not complete: time-outs, aborts, buffers that go, sizes that do not fit, a far end that closes.
#include <thread>

#include "gloo/rank.h"

namespace mrc::gloo_test
{

namespace
{

using namespace std::chrono_literals;
using context_handle = std::shared_ptr<gloo::rendezvous::Context>;
using bytes = std::vector<std::uint8_t>;

template <typename Action>
std::string failure_of(const Action &action)
{
    try {
        action();
    } catch (const gloo::IoException &failure) {
        return failure.what();
    }
    return "";
}

bool has(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

// A store of both ranks is the way to meet once a pair is of no use.
void meet(const rank_options &options, const std::string &where)
{
    gloo::rendezvous::FileStore store{options.folder};
    store.set(where + std::to_string(options.rank), std::vector<char>{'x'});
    store.wait({where + std::to_string(1 - options.rank)}, 30s);
}

void times_out(const rank_options &options, const std::shared_ptr<gloo::transport::Device> &device, std::size_t size)
{
    const std::string name = "time-out of " + std::to_string(size);
    const context_handle context = connected(options, device, 10s, name);
    bytes memory(size);
    const auto buffer = context->createUnboundBuffer(memory.data(), memory.size());
    if (options.rank == 0) {
        buffer->recv(1, 1);
        const auto begun = std::chrono::steady_clock::now();
        const std::string why = failure_of([&] { buffer->waitRecv(300ms); });
        check(std::chrono::steady_clock::now() - begun < 5s, "a time-out does not take long");
        check(has(why, "Timed out waiting 300ms for recv operation to complete") && has(why, "rank 1"),
              "a receive that times out names its rank: " + why);
        check(has(failure_of([&] { buffer->recv(1, 2); }), "time-out"), "the pair is of no use any more");
        meet(options, name);
    } else {
        // The far end's memory is its own again: what comes too late fails, or is never sent.
        meet(options, name);
        const std::string why = failure_of([&] {
            buffer->send(0, 1);
            buffer->waitSend(5s);
        });
        check(has(why, "rank 0"), "a send to who has given up fails, and names it: " + why);
    }
}

void send_times_out(const rank_options &options, const std::shared_ptr<gloo::transport::Device> &device)
{
    const context_handle context = connected(options, device, 10s, "send");
    bytes memory(100);
    const auto buffer = context->createUnboundBuffer(memory.data(), memory.size());
    if (options.rank == 0) {
        buffer->send(1, 1);
        const std::string why = failure_of([&] { buffer->waitSend(200ms); });
        check(has(why, "for send operation") && has(why, "rank 1"), "a send that nobody receives times out: " + why);
    }
    meet(options, "send");
}

void aborts(const rank_options &options, const std::shared_ptr<gloo::transport::Device> &device)
{
    const context_handle context = connected(options, device, 10s, "abort");
    bytes memory(100);
    const auto buffer = context->createUnboundBuffer(memory.data(), memory.size());
    const int peer = 1 - options.rank;
    {
        buffer->recv(std::vector<int>{peer}, 1);
        std::jthread aborting{[&] { buffer->abortWaitRecv(); }};
        check(!buffer->waitRecv(), "a wait for a receive is aborted");
    }
    meet(options, "receive aborted");
    const auto other = context->createUnboundBuffer(memory.data(), memory.size());
    other->send(peer, 1); // which the receive of before takes
    check(buffer->waitRecv() && other->waitSend(), "and goes on when it is asked again");
    {
        other->send(peer, 2);
        std::jthread aborting{[&] { other->abortWaitSend(); }};
        check(!other->waitSend(), "a wait for a send is aborted");
    }
    meet(options, "send aborted");
    buffer->recv(peer, 2);
    check(buffer->waitRecv() && other->waitSend(), "and goes on, too");
    {
        bytes more(100);
        const auto gone = context->createUnboundBuffer(more.data(), more.size());
        gone->recv(std::vector<int>{peer}, 3); // from any: nobody was told
    }
    other->send(peer, 4);
    buffer->recv(peer, 4);
    check(buffer->waitRecv() && other->waitSend(), "a receive from any that goes costs nobody anything");
    meet(options, "abort");
}

void buffer_goes(const rank_options &options, const std::shared_ptr<gloo::transport::Device> &device)
{
    const context_handle context = connected(options, device, 3s, "goes");
    bytes memory(100000);
    const auto buffer = context->createUnboundBuffer(memory.data(), memory.size());
    const int peer = 1 - options.rank;
    if (options.rank == 0) {
        {
            bytes lost(100000);
            const auto gone = context->createUnboundBuffer(lost.data(), lost.size());
            gone->recv(peer, 1);
        }
        check(has(failure_of([&] { buffer->recv(peer, 2); }), "a buffer went"), "the pair goes with a posted receive");
        meet(options, "goes");
    } else {
        meet(options, "goes");
        const std::string why = failure_of([&] {
            buffer->send(peer, 1);
            buffer->waitSend();
        });
        check(has(why, "rank 0"), "and the far end is told: " + why);
    }
}

void does_not_fit(const rank_options &options, const std::shared_ptr<gloo::transport::Device> &device)
{
    const context_handle context = connected(options, device, 3s, "fit");
    bytes memory(10000);
    const auto buffer = context->createUnboundBuffer(memory.data(), memory.size());
    std::string why;
    if (options.rank == 0)
        why = failure_of([&] { buffer->send(1, 1), buffer->waitSend(); });
    else
        why = failure_of([&] { buffer->recv(0, 1, 0, 50), buffer->waitRecv(); });
    check(has(why, options.rank == 0 ? "rank 1" : "rank 0"), "a send of more than is received fails both: " + why);
    meet(options, "fit");
}

void far_end_closes(const rank_options &options, const std::shared_ptr<gloo::transport::Device> &device)
{
    context_handle context = connected(options, device, 20s, "close");
    bytes memory(100);
    auto buffer = context->createUnboundBuffer(memory.data(), memory.size());
    if (options.rank == 1) {
        buffer->send(0, 1);
        check(buffer->waitSend(), "the last message is sent");
        buffer.reset();
        context.reset();
        return;
    }
    buffer->recv(1, 1);
    check(buffer->waitRecv(), "and arrives");
    const auto begun = std::chrono::steady_clock::now();
    const std::string why = failure_of([&] { buffer->recv(1, 2), buffer->waitRecv(); });
    check(has(why, "rank 1") && has(why, "closed") && std::chrono::steady_clock::now() - begun < 5s,
          "who closes is noticed long before a time-out: " + why);
}

void nobody_connects(const rank_options &options, const std::shared_ptr<gloo::transport::Device> &device)
{
    const auto context = device->createContext(options.rank, options.size);
    context->setTimeout(400ms);
    auto &pair = context->createPair(1 - options.rank);
    gloo::rendezvous::FileStore store{options.folder};
    store.set("silent" + std::to_string(options.rank), pair->address().bytes());
    store.wait({"silent" + std::to_string(1 - options.rank)}, 30s);
    if (options.rank == 0) {
        const std::vector<char> address = store.get("silent1");
        const std::string why = failure_of([&] { pair->connect(address); });
        check(has(why, "did not connect within 400ms") && has(why, "rank 1"),
              "a far end that does not connect: " + why);
    }
    meet(options, "unconnected");
}

} // namespace

void test_failures(const rank_options &options)
{
    const auto device = gloo_adapter::create_device();
    times_out(options, device, 100);
    times_out(options, device, 1000000);
    say("time-outs of receives");
    send_times_out(options, device);
    say("time-outs of sends");
    aborts(options, device);
    say("aborts");
    buffer_goes(options, device);
    say("buffers that go");
    does_not_fit(options, device);
    say("sizes that do not fit");
    nobody_connects(options, device);
    say("nobody connects");
    far_end_closes(options, device);
    say("the far end closes");
}

} // namespace mrc::gloo_test
