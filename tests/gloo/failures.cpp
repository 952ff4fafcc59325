// SPDX-License-Identifier: Apache-2.0
// What does not complete: time-outs, aborts, buffers that go, sizes that do not fit, memory that cannot be registered,
// a far end that closes. The failure's text is what tells a time-out from one that was noticed.
#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include <gloo/common/error.h>

#include "gloo/rank.h"

namespace mrc::gloo_test
{

namespace
{

using namespace std::chrono_literals;
using bytes = std::vector<std::uint8_t>;

template <typename Action>
std::string failure_of(const Action &action)
{
    try {
        action();
    } catch (const gloo::Exception &failure) {
        return failure.what();
    }
    return "";
}

bool has(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

// A case: what both ranks have, and where they meet.
struct two_ranks {
    const rank_options &options;
    std::shared_ptr<gloo::transport::Device> device;
    std::string name;
    std::shared_ptr<gloo::rendezvous::Context> context;
    bytes memory;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer; // of the memory
    int peer;
    std::string peer_name;

    two_ranks(const rank_options &chosen, std::shared_ptr<gloo::transport::Device> used, std::string what,
              std::size_t size, std::chrono::milliseconds timeout)
        : options{chosen}, device{std::move(used)}, name{std::move(what)},
          context{connected(options, device, timeout, name)}, memory(size),
          buffer{context->createUnboundBuffer(memory.data(), size)}, peer{1 - options.rank},
          peer_name{"rank " + std::to_string(peer)}
    {
    }

    [[nodiscard]] bool first() const { return options.rank == 0; }
    [[nodiscard]] gloo::transport::Pair &pair() const { return *context->getPair(peer); }
    // By the store: pairs may be of no use.
    void meet(const std::string &where) const
    {
        gloo::rendezvous::FileStore store{options.folder};
        store.set(name + where + std::to_string(options.rank), std::vector<char>{'x'});
        store.wait({name + where + std::to_string(peer)}, 30s);
    }
    void fails(const std::string &why, const std::string &part) const
    {
        check(has(why, part) && has(why, peer_name), name + ": '" + part + "', and the rank's name: " + why);
    }
};

void receive_times_out(two_ranks &here)
{
    if (here.first()) {
        here.buffer->recv(1, 1);
        here.fails(failure_of([&] { here.buffer->waitRecv(300ms); }),
                   "Timed out waiting 300ms for recv operation to complete");
        check(has(failure_of([&] { here.buffer->recv(1, 2); }), "time-out"), "the pair is of no use any more");
        here.meet("timed out");
    } else {
        // The far end's memory is its own again: what comes too late fails, or is never sent.
        here.meet("timed out");
        here.fails(failure_of([&] {
                       here.buffer->send(0, 1);
                       here.buffer->waitSend(5s);
                   }),
                   "mrc: ");
    }
}

void send_times_out(two_ranks &here)
{
    if (!here.first())
        return;
    here.buffer->send(1, 1);
    here.fails(failure_of([&] { here.buffer->waitSend(200ms); }), "Timed out waiting 200ms for send operation");
}

void waits_are_aborted(two_ranks &here)
{
    {
        here.buffer->recv(std::vector<int>{here.peer}, 1);
        std::jthread aborting{[&] { here.buffer->abortWaitRecv(); }};
        check(!here.buffer->waitRecv(), "a wait for a receive is aborted");
    }
    here.meet("receive aborted");
    const auto other = here.context->createUnboundBuffer(here.memory.data(), here.memory.size());
    other->send(here.peer, 1); // which the receive of before takes
    check(here.buffer->waitRecv() && other->waitSend(), "and goes on when it is asked again");
    {
        other->send(here.peer, 2);
        std::jthread aborting{[&] { other->abortWaitSend(); }};
        check(!other->waitSend(), "a wait for a send is aborted");
    }
    here.meet("send aborted");
    here.buffer->recv(here.peer, 2);
    check(here.buffer->waitRecv() && other->waitSend(), "and goes on, too");
    {
        bytes more(100);
        const auto gone = here.context->createUnboundBuffer(more.data(), more.size());
        gone->recv(std::vector<int>{here.peer}, 3); // from any: nobody was told
    }
    other->send(here.peer, 4);
    here.buffer->recv(here.peer, 4);
    check(here.buffer->waitRecv() && other->waitSend(), "a receive from any that goes costs nobody anything");
}

void buffer_goes(two_ranks &here)
{
    if (here.first()) {
        {
            bytes lost(here.memory.size());
            const auto gone = here.context->createUnboundBuffer(lost.data(), lost.size());
            gone->recv(here.peer, 1);
        }
        check(has(failure_of([&] { here.buffer->recv(here.peer, 2); }), "a buffer went"),
              "the pair goes with a posted receive");
        here.meet("gone");
    } else {
        here.meet("gone");
        here.fails(failure_of([&] { here.buffer->send(here.peer, 1), here.buffer->waitSend(); }), "mrc: ");
    }
}

void does_not_fit(two_ranks &here)
{
    here.fails(failure_of([&] {
                   if (here.first())
                       here.buffer->send(1, 1), here.buffer->waitSend();
                   else
                       here.buffer->recv(0, 1, 0, 50), here.buffer->waitRecv();
               }),
               "mrc: ");
}

// The far end's receive stays: the next send takes it.
void memory_is_not_registered(two_ranks &here)
{
    bytes sign(1);
    const auto token = here.context->createUnboundBuffer(sign.data(), sign.size());
    if (!here.first()) {
        here.buffer->recv(0, 1);
        token->send(0, 2);
        check(token->waitSend() && here.buffer->waitRecv(), "a receive outlives a send that could not be posted");
        check(here.memory == filled(0, 1, 1, here.memory.size()), "with the bytes of the next");
        return;
    }
    token->recv(1, 2);
    check(token->waitRecv(), "the far end's receive is known");
    const std::size_t size = here.memory.size();
    const auto nowhere = here.context->createUnboundBuffer(nullptr, size);
    here.fails(failure_of([&] { nowhere->send(1, 1); }), "cannot register");
    here.fails(failure_of([&] { nowhere->recv(1, 3); }), "cannot register");
    std::ranges::copy(filled(0, 1, 1, size), here.memory.begin());
    here.buffer->send(1, 1);
    check(here.buffer->waitSend(), "a send after one that could not be posted");
}

void bound_receive_times_out(two_ranks &here)
{
    if (here.first()) {
        const auto into = here.pair().createRecvBuffer(3, here.memory.data(), here.memory.size());
        here.fails(failure_of([&] { into->waitRecv(); }), "Timed out waiting 3000ms for recv operation to complete");
        here.meet("timed out");
    } else {
        here.meet("timed out");
        here.fails(failure_of([&] {
                       const auto from = here.pair().createSendBuffer(3, here.memory.data(), here.memory.size());
                       from->send(0, here.memory.size(), 0);
                       from->waitSend();
                   }),
                   "mrc: ");
    }
}

// It counts as none: a buffer that waited for it to complete would cut the pair at the time-out.
void bound_send_beyond_the_end(two_ranks &here)
{
    if (here.first()) {
        const auto from = here.pair().createSendBuffer(3, here.memory.data(), here.memory.size());
        from->send(0, 10, 0);
        from->waitSend();
        here.fails(failure_of([&] { from->send(0, 20, 0); }), "beyond the end");
    } else {
        const auto into = here.pair().createRecvBuffer(3, here.memory.data(), 10);
        into->waitRecv();
        here.meet("received");
    }
    if (here.first())
        here.meet("received");
    here.buffer->recv(here.peer, 4);
    const auto other = here.context->createUnboundBuffer(here.memory.data(), here.memory.size());
    other->send(here.peer, 4);
    check(here.buffer->waitRecv() && other->waitSend(), "the pair goes on after a bound send that was refused");
}

// A bound buffer that goes waits for what reads its memory, however long that takes.
void no_time_out(two_ranks &here)
{
    const bytes wanted = filled(0, 1, 5, here.memory.size());
    if (here.first()) {
        std::ranges::copy(wanted, here.memory.begin());
        here.pair().createSendBuffer(3, here.memory.data(), here.memory.size())->send(0, here.memory.size(), 0);
        std::ranges::fill(here.memory, 0xEE);
    } else {
        const auto into = here.pair().createRecvBuffer(3, here.memory.data(), here.memory.size());
        into->waitRecv();
        check(here.memory == wanted, "the bytes of a bound buffer that went after its send");
    }
}

void nobody_connects(two_ranks &here)
{
    const auto context = here.device->createContext(here.options.rank, here.options.size);
    context->setTimeout(400ms);
    auto &pair = context->createPair(here.peer);
    gloo::rendezvous::FileStore store{here.options.folder};
    store.set("silent" + std::to_string(here.options.rank), pair->address().bytes());
    store.wait({"silent" + std::to_string(here.peer)}, 30s);
    if (here.first()) {
        const std::vector<char> address = store.get("silent1");
        here.fails(failure_of([&] { pair->connect(address); }), "did not connect within 400ms");
        pair->close();
        here.fails(failure_of([&] { pair->connect(address); }), "did not connect within 400ms");
    }
    here.meet("silent");
}

// The second rank ends while the first one waits, which learns of it long before its time-out.
void far_end_closes(two_ranks &here, const std::function<void()> &post, const std::function<void()> &wait)
{
    if (here.first()) {
        here.buffer->recv(1, 1);
        check(here.buffer->waitRecv(), "the last message of who closes arrives");
        post();
        here.meet("posted");
        here.fails(failure_of(wait), "closed the connection");
    } else {
        here.buffer->send(0, 1);
        check(here.buffer->waitSend(), "the last message is sent");
        here.meet("posted");
        here.buffer.reset();
        here.context.reset();
    }
}

void far_end_closes_under_a_receive(two_ranks &here)
{
    far_end_closes(here, [&] { here.buffer->recv(1, 2); }, [&] { here.buffer->waitRecv(); });
}

void far_end_closes_under_a_receive_from_any(two_ranks &here)
{
    far_end_closes(here, [&] { here.buffer->recv(std::vector<int>{0, 1}, 2); }, [&] { here.buffer->waitRecv(); });
}

void far_end_closes_under_a_bound_receive(two_ranks &here)
{
    std::unique_ptr<gloo::transport::Buffer> into;
    far_end_closes(
        here, [&] { into = here.pair().createRecvBuffer(3, here.memory.data(), here.memory.size()); },
        [&] { into->waitRecv(); });
}

struct failure_case {
    const char *name;
    void (*run)(two_ranks &here);
    std::size_t bytes = 100;
    std::chrono::milliseconds timeout = 20s;
};

const failure_case cases[] = {
    {"a short receive times out", receive_times_out},
    {"a long receive times out", receive_times_out, 1000000},
    {"a send times out", send_times_out},
    {"waits are aborted", waits_are_aborted},
    {"a buffer goes", buffer_goes, 100000},
    {"a send does not fit", does_not_fit, 10000},
    {"memory is not registered", memory_is_not_registered, 100000},
    {"a bound receive times out", bound_receive_times_out, 100000, 3s},
    {"a bound send beyond the end", bound_send_beyond_the_end},
    {"no time-out", no_time_out, 8000000, gloo::kNoTimeout},
    {"nobody connects", nobody_connects},
    {"the far end closes under a receive", far_end_closes_under_a_receive},
    {"the far end closes under a receive from any", far_end_closes_under_a_receive_from_any},
    {"the far end closes under a bound receive", far_end_closes_under_a_bound_receive},
};

} // namespace

void test_failures(const rank_options &options)
{
    const auto device = gloo_adapter::create_device();
    for (const failure_case &one : cases) {
        two_ranks here{options, device, one.name, one.bytes, one.timeout};
        one.run(here);
        here.meet("over");
        say(one.name);
    }
    say("all failures");
}

} // namespace mrc::gloo_test
