// SPDX-License-Identifier: Apache-2.0
#include "raw_client.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "datapath/region_table.h"
#include "session/fd_passing.h"

namespace mrc::hostile
{

namespace
{

constexpr int patience_ms = 20'000;
constexpr std::uint32_t first_psn = 0xFFFFF0;

session::session_request request_of(session::request_kind kind, std::uint32_t number = 0)
{
    session::session_request request;
    request.kind = kind;
    request.number = number;
    return request;
}

kernel::mapping map(const kernel::unique_fd &file, std::size_t bytes)
{
    void *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    REQUIRE(at != MAP_FAILED);
    return {at, bytes};
}

} // namespace

raw_queue_pair::raw_queue_pair(const raw_reply &made) : numbers{made.body.qp}
{
    REQUIRE(made.done() && made.fds.size() == 1);
    layout = {.send_capacity = numbers.send_depth,
              .receive_capacity = numbers.receive_depth,
              .most_pieces = numbers.most_pieces,
              .most_inline = numbers.most_inline};
    rings = map(made.fds[0], layout.bytes());
    sends = layout.sends(rings.get());
}

raw_session::raw_session(const std::string &path) : socket_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)}
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    REQUIRE(socket_);
    REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0);
}

bool raw_session::send(const session::session_request &request, int fd) const
{
    return send_packet(socket_.get(), &request, sizeof(request), {&fd, fd >= 0 ? 1U : 0U});
}

raw_reply raw_session::receive() const
{
    raw_reply reply;
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, patience_ms) == 1);
    std::array<kernel::unique_fd, 4> fds;
    auto got = receive_packet(socket_.get(), &reply.body, sizeof(reply.body), fds);
    if (!got && errno == ECONNRESET) // told once, before what the daemon said last
        got = receive_packet(socket_.get(), &reply.body, sizeof(reply.body), fds);
    reply.came = got && got->bytes == sizeof(reply.body);
    for (std::size_t i = 0; reply.came && i < got->fds; ++i)
        reply.fds.push_back(std::move(fds[i]));
    return reply;
}

raw_reply raw_session::ask(const session::session_request &request, int fd) const
{
    return send(request, fd) ? receive() : raw_reply{};
}

raw_reply raw_session::ask(session::request_kind kind, std::uint32_t number) const
{
    return ask(request_of(kind, number));
}

void raw_client::say_hello()
{
    const kernel::unique_fd memory{::open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
    raw_reply reply = session.ask(request_of(session::request_kind::hello), memory.get());
    REQUIRE(reply.done() && reply.fds.size() == 3);
    host_ = reply.body.host;
    doorbell = std::move(reply.fds[0]);
    bells = map(reply.fds[2], sizeof(session::bell_page));
}

void raw_client::open_events()
{
    raw_reply reply = session.ask(session::request_kind::open_events);
    REQUIRE(reply.done() && reply.fds.size() == 1);
    events_ = reply.body.number;
    pipe_ = std::move(reply.fds[0]);
}

void raw_client::allocate_pd()
{
    const raw_reply reply = session.ask(session::request_kind::allocate_pd);
    REQUIRE(reply.done());
    pd_ = reply.body.number;
}

void raw_client::create_cq()
{
    session::session_request request = request_of(session::request_kind::create_cq);
    request.cq = {.entries = 4 * depth_, .channel = 0, .events = events_, .reserved = 0};
    const raw_reply reply = session.ask(request);
    REQUIRE(reply.done() && reply.fds.size() == 1);
    cq_ = reply.body.cq.number;
    const session::completion_layout made{reply.body.cq.entries};
    completions = map(reply.fds[0], made.bytes());
    done_ = made.completions(completions.get());
}

raw_reply raw_client::create_another_qp() const
{
    session::session_request request = request_of(session::request_kind::create_qp);
    request.create = {.pd = pd_,
                      .send_cq = cq_,
                      .receive_cq = cq_,
                      .events = events_,
                      .send_depth = depth_,
                      .receive_depth = depth_,
                      .most_pieces = 4,
                      .most_inline = 64};
    return session.ask(request);
}

void raw_client::create_qp()
{
    first = raw_queue_pair{create_another_qp()};
}

raw_region raw_client::register_process(void *at, std::size_t bytes) const
{
    session::session_request request = request_of(session::request_kind::register_memory);
    const auto address = reinterpret_cast<std::uint64_t>(at);
    request.memory = {.address = address,
                      .length = bytes,
                      .iova = address,
                      .offset = 0,
                      .pd = pd_,
                      .access = session::access_remote_write | session::access_local_write};
    const raw_reply reply = session.ask(request);
    REQUIRE(reply.done());
    return {.key = reply.body.number, .address = address};
}

raw_reply raw_client::register_file(int fd, std::size_t bytes, std::uint64_t offset) const
{
    session::session_request request = request_of(session::request_kind::register_memory);
    request.memory = {.address = 0,
                      .length = bytes,
                      .iova = 0,
                      .offset = offset,
                      .pd = pd_,
                      .access = session::access_remote_write | session::access_local_write};
    return session.ask(request, fd);
}

bool raw_client::modify(protocol::qp_state to, const raw_client *peer) const
{
    const raw_end other = peer == nullptr ? raw_end{} : peer->end_of(peer->first);
    return modify(first.numbers.qpn, to, peer == nullptr ? nullptr : &other);
}

bool raw_client::modify(std::uint32_t qpn, protocol::qp_state to, const raw_end *peer) const
{
    session::session_request request = request_of(session::request_kind::modify_qp);
    request.qp = {};
    request.qp.qpn = qpn;
    request.qp.mask = session::qp_sets_state;
    request.qp.state = static_cast<std::uint8_t>(to);
    if (to == protocol::qp_state::init) {
        request.qp.mask |= session::qp_sets_access;
        request.qp.access = session::access_remote_write;
    }
    if (peer != nullptr) {
        request.qp.mask |= session::qp_sets_peer | session::qp_sets_receive_psn | session::qp_sets_send_psn;
        request.qp.peer_qpn = peer->qpn;
        request.qp.peer = peer->host;
        request.qp.receive_psn = first_psn;
        request.qp.send_psn = first_psn;
    }
    return session.ask(request).done();
}

bool raw_client::post(const session::send_entry &entry)
{
    return first.sends.push(entry);
}

void raw_client::ring(const raw_queue_pair &which)
{
    static_cast<session::bell_page *>(bells.get())->ring(which.numbers.bell);
    ::eventfd_write(doorbell.get(), 1);
}

std::uint8_t raw_client::next_status()
{
    const auto begin = std::chrono::steady_clock::now();
    session::completion_entry entry;
    while (!done_.pop(entry))
        REQUIRE(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds{patience_ms});
    return entry.status;
}

void connect(const raw_client &a, const raw_client &b)
{
    using protocol::qp_state;
    for (const raw_client *one : {&a, &b})
        REQUIRE(one->modify(qp_state::init));
    REQUIRE(a.modify(qp_state::ready_to_receive, &b) && b.modify(qp_state::ready_to_receive, &a));
    for (const raw_client *one : {&a, &b})
        REQUIRE(one->modify(qp_state::ready_to_send));
}

} // namespace mrc::hostile
