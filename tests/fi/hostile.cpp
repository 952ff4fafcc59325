// SPDX-License-Identifier: Apache-2.0
// Far ends that break the provider's protocol: the connection ends, and nothing completes as if it had gone well.
#include <functional>

#include "fi/stranger.h"

namespace mrc::fi_test
{

namespace
{

using fi_provider::transfer_head;
using enum fi_provider::transfer_kind;

enum class asks { nothing, announced_send, read }; // what the honest end has under way

struct misdeed {
    const char *name;
    asks meanwhile;
    std::function<void(stranger &)> done;
};

void say_often(stranger &who, int times, const transfer_head &head, std::span<const std::byte> body = {})
{
    for (int i = 0; i < times; ++i)
        who.say(head, body);
}

// An answer of this kind to what the other end has asked.
auto answers(fi_provider::transfer_kind kind)
{
    return [kind](stranger &who) { who.say({.kind = kind, .id = who.heard().id, .address = 4096, .key = 1}); };
}

const std::vector<misdeed> misdeeds{
    {"a read is answered as a send would be", asks::read, answers(no_go)},
    {"a read is answered by where a send would go", asks::read, answers(go)},
    {"a send is answered as a read would be", asks::announced_send, answers(unreadable)},
    {"nothing was sent, and is taken", asks::nothing, [](stranger &who) { who.say({.kind = go, .id = 5}); }},
    {"nothing was sent, and is refused", asks::nothing, [](stranger &who) { who.say({.kind = no_go, .id = 5}); }},
    {"nothing was read, and is refused", asks::nothing, [](stranger &who) { who.say({.kind = unreadable, .id = 5}); }},
    {"credit for what was not sent", asks::nothing, [](stranger &who) { who.say({.kind = credit, .id = 1}); }},
    {"a short send is announced", asks::nothing,
     [](stranger &who) { who.say({.kind = announce, .id = 1, .size = 9}); }},
    {"an announced send has no bytes", asks::nothing, [](stranger &who) { who.say({.kind = announce, .id = 1}); }},
    {"a send of another size", asks::nothing, [](stranger &who) { who.say({.kind = send, .size = 9}); }},
    {"a message without a head", asks::nothing, [](stranger &who) { who.say_too_little(); }},
    {"sends without credit", asks::nothing, [](stranger &who) { say_often(who, 257, {.kind = send}); }},
    {"writes with data without credit", asks::nothing,
     [](stranger &who) { say_often(who, 257, {.kind = written, .has_data = true, .size = 8}); }},
};

void ends_the_connection(const instances &of, const misdeed &one)
{
    const host honest{of.one};
    stranger who{of.other};
    sockaddr_in address{};
    const owned<fid_pep> door = honest.listen(address);
    who.connect(address);
    const event request = honest.next_event();
    check(request.kind == FI_CONNREQ, "a stranger asks");
    const owned<fid_ep> end = honest.endpoint(*request.info);
    check(::fi_accept(end.get(), nullptr, 0) == 0, "it is accepted");
    who.answered();
    check(honest.next_event().kind == FI_CONNECTED, "and is there");
    memory some{honest, 50000, 1, 0};
    if (one.meanwhile == asks::announced_send)
        check(::fi_send(end.get(), some.bytes.data(), some.bytes.size(), nullptr, 0, nullptr) == 0, "a send begins");
    if (one.meanwhile == asks::read)
        check(::fi_read(end.get(), some.bytes.data(), some.bytes.size(), nullptr, 0, 4096, 1, nullptr) == 0,
              "a read begins");
    one.done(who);
    check(honest.next_event().kind == FI_SHUTDOWN, one.name);
    if (one.meanwhile != asks::nothing)
        check(honest.next().error != 0, "what was under way has failed");
}

} // namespace

void test_hostile(const instances &of)
{
    for (const misdeed &one : misdeeds)
        ends_the_connection(of, one);
}

} // namespace mrc::fi_test
