// SPDX-License-Identifier: Apache-2.0
// Too many sessions, and sessions that end anywhere.
#include <csignal>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "attacks.h"

namespace mrc::hostile
{

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
    const kernel::unique_fd wait{ends[0]};
    kernel::unique_fd release{ends[1]};
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
        session::send_entry entry;
        entry.remote_address = to.address;
        entry.rkey = to.key;
        entry.pieces = 1;
        entry.flags = session::send_signaled;
        entry.first = {.address = from.address, .length = static_cast<std::uint32_t>(memory.size()), .lkey = from.key};
        REQUIRE(::write(release.get(), "", 1) == 1);
        while (true) {
            while (here.post(entry))
                continue;
            here.ring();
            (void)here.next_status();
        }
    }
    release.reset();
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

struct lingering_socket {
    kernel::unique_fd sent; // its close() waits until the other end has read, or closes
    kernel::unique_fd other;
};

lingering_socket make_lingering()
{
    const kernel::unique_fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(listener && ::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &size) == 0);
    lingering_socket made;
    made.sent = kernel::unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    REQUIRE(made.sent);
    REQUIRE(::connect(made.sent.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
    made.other = kernel::unique_fd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    REQUIRE(made.other);
    const linger patience{.l_onoff = 1, .l_linger = 3600};
    REQUIRE(::setsockopt(made.sent.get(), SOL_SOCKET, SO_LINGER, &patience, sizeof(patience)) == 0);
    const std::vector<std::byte> bytes(1 << 20);
    while (::send(made.sent.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0)
        continue;
    return made;
}

// Sends such a socket, and returns its other end when the daemon's reference is the last one. A daemon that has closed
// its own before we close ours leaves the wait to us: it is cut short, and a new socket sent. So is one that was not
// taken.
template <typename F>
kernel::unique_fd leave_with_daemon(F &&send)
{
    static volatile std::sig_atomic_t cut_short = 0;
    struct sigaction interrupt = {};
    interrupt.sa_handler = [](int) { cut_short = 1; };
    REQUIRE(::sigaction(SIGALRM, &interrupt, nullptr) == 0); // without SA_RESTART: it ends a lingering close()
    constexpr itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 200'000}};
    constexpr itimerval never{};
    for (int n = 0;; ++n) {
        REQUIRE(n < 50); // it is not first every time
        lingering_socket socket = make_lingering();
        const bool taken = send(socket.sent.get());
        cut_short = 0;
        REQUIRE(::setitimer(ITIMER_REAL, &soon, nullptr) == 0);
        socket.sent.reset();
        REQUIRE(::setitimer(ITIMER_REAL, &never, nullptr) == 0);
        if (taken && cut_short == 0)
            return std::move(socket.other);
    }
}

} // namespace

// The test has lowered the daemon's limit: it runs out first. What it has accepted it keeps, and the rest waits.
void use_up_descriptors(const attack_terms &terms)
{
    std::vector<raw_session> sessions;
    session::session_request hello;
    session::session_request channel;
    channel.kind = session::request_kind::create_channel;
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
        REQUIRE(sessions.front().ask(session::request_kind::describe).done()); // who is in is served
    sessions.erase(sessions.begin());                                          // and who leaves makes room for others
    REQUIRE(answers_within(sessions.back(), 20'000));
}

// Sessions and queue pairs until no more are given: those limits are a user's, not a session's.
void take_everything(const attack_terms &terms)
{
    constexpr std::size_t most_clients = 256; // limits.clients
    constexpr std::size_t most_queue_pairs = 4096;
    const raw_client client{terms.where.attacked, depth};
    std::size_t queue_pairs = 1;
    while (client.create_another_qp().done())
        ++queue_pairs;
    REQUIRE(queue_pairs < most_queue_pairs); // the client beside has one
    std::vector<raw_session> sessions;
    session::session_request hello;
    hello.kind = session::request_kind::hello;
    raw_reply said;
    do {
        REQUIRE(sessions.size() < most_clients);
        sessions.emplace_back(terms.where.attacked);
        (void)sessions.back().send(hello); // who is one too many may be refused before
        said = sessions.back().receive();
    } while (said.done());
    REQUIRE(said.came && said.body.error == EUSERS);
    REQUIRE(client.create_another_qp().body.error == ENOMEM);
}

void leave_lingering(const attack_terms &terms)
{
    constexpr int patience_ms = 10'000; // the sockets linger for an hour
    std::vector<kernel::unique_fd> others;
    std::vector<raw_session> sessions;
    session::session_request describe;
    describe.kind = session::request_kind::describe;
    session::session_request hello;
    hello.kind = session::request_kind::hello;
    for (const auto &request : {hello, describe}) { // as memory, and with what takes no descriptor
        others.push_back(leave_with_daemon([&](int descriptor) {
            sessions.emplace_back(terms.where.attacked);
            return sessions.back().send(request, descriptor);
        }));
        REQUIRE(answers_within(sessions.back(), patience_ms));
    }
    others.push_back(leave_with_daemon([&](int descriptor) { // with what the daemon never reads
        const raw_session session{terms.where.attacked};
        REQUIRE(::shutdown(session.fd(), SHUT_RD) == 0); // its reply fails
        bool taken = true;
        for (int n = 0; n < 3; ++n)
            taken = taken && session.send(describe, descriptor); // or it has closed at the first already
        return taken;
    }));
    const raw_session later{terms.where.attacked};
    REQUIRE(later.send(hello) && answers_within(later, patience_ms));
    REQUIRE(answers_within(sessions.front(), patience_ms) && sessions.front().receive().body.error == EINVAL);
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
