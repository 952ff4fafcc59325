// SPDX-License-Identifier: Apache-2.0
// Too many sessions, and sessions that end anywhere.
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "attacks.h"

namespace mrc::hostile
{

using namespace service;
using clock = std::chrono::steady_clock;

namespace
{

constexpr std::uint32_t depth = 16;
constexpr std::size_t most_sessions = 4000;

bool answers_within(const raw_session &session, int milliseconds)
{
    pollfd ready{.fd = session.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, milliseconds) == 1;
}

// A child that gets as far as `step`, and is killed there; past the last step it is killed in traffic. True while there
// are further steps.
bool die_at(const targets &where, int step, std::chrono::microseconds into_traffic)
{
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const datapath::unique_fd wait{ends[0]};
    datapath::unique_fd tell{ends[1]};
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int at = 0;
        const auto survive = [&] {
            if (at++ == step)
                ::raise(SIGKILL);
        };
        raw_client here{where.attacked, depth, survive};
        raw_client there{where.other, depth, survive};
        using protocol::qp_state;
        for (const qp_state to : {qp_state::init, qp_state::ready_to_receive, qp_state::ready_to_send}) {
            survive();
            const bool names_peer = to == qp_state::ready_to_receive;
            REQUIRE(here.modify(to, names_peer ? &there : nullptr));
            survive();
            REQUIRE(there.modify(to, names_peer ? &here : nullptr));
        }
        survive();
        std::vector<std::byte> memory(1 << 20);
        const raw_region from = here.register_process(memory.data(), memory.size());
        survive();
        const raw_region to = there.register_process(memory.data(), memory.size());
        survive();
        datapath::send_entry entry;
        entry.remote_address = to.address;
        entry.rkey = to.key;
        entry.pieces = 1;
        entry.flags = datapath::send_signaled;
        entry.first = {.address = from.address, .length = static_cast<std::uint32_t>(memory.size()), .lkey = from.key};
        REQUIRE(::write(tell.get(), "", 1) == 1);
        while (true) {
            while (here.post(entry))
                continue;
            here.ring();
            (void)here.next_status();
        }
    }
    tell.reset();
    char reached = 0;
    const bool in_traffic = ::read(wait.get(), &reached, 1) == 1;
    if (in_traffic) {
        pollfd end{.fd = wait.get(), .events = 0, .revents = 0};
        const timespec limit{.tv_sec = 0, .tv_nsec = into_traffic.count() * 1000};
        REQUIRE(::ppoll(&end, 1, &limit, nullptr) == 0); // it does not end by itself
        ::kill(child, SIGKILL);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return !in_traffic;
}

} // namespace

// The test has lowered the daemon's limit: it runs out first. What it has accepted it keeps, and the rest waits.
void use_up_descriptors(const attack_terms &terms)
{
    std::vector<raw_session> sessions;
    session_request hello;
    session_request channel;
    channel.kind = request_kind::create_channel;
    bool exhausted = false;
    while (!exhausted && sessions.size() < most_sessions) {
        sessions.emplace_back(terms.where.attacked);
        exhausted = !sessions.back().send(hello) || !answers_within(sessions.back(), 1000);
        if (exhausted)
            break;
        (void)sessions.back().receive();
        for (int n = 0; n < 8 && sessions.back().ask(channel).done(); ++n)
            continue;
    }
    REQUIRE(exhausted);
    for (const auto end = clock::now() + terms.time; clock::now() < end;)
        REQUIRE(sessions.front().ask(request_kind::describe).done()); // who is in is served
    sessions.erase(sessions.begin());                                 // and who leaves makes room for others
    REQUIRE(answers_within(sessions.back(), 20'000));
}

void die(const attack_terms &terms)
{
    random_engine random{terms.seed};
    int steps = 0;
    while (die_at(terms.where, steps, {}))
        ++steps;
    REQUIRE(steps > 15);
    constexpr int never = -1;
    for (const auto end = clock::now() + terms.time; clock::now() < end;)
        (void)die_at(terms.where, never, std::chrono::microseconds{random() % 20'000});
}

} // namespace mrc::hostile
