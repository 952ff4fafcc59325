// SPDX-License-Identifier: Apache-2.0
#include "two_daemons.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/socket.h>

#include "session/fd_passing.h"

namespace mrc::fuzz
{

using namespace service;

namespace
{

constexpr std::uint32_t first_psn = 0xFFFFF0;
constexpr unsigned rounds_to_finish = 20'000;

// Answered when other hosts have answered, or have not in time.
bool is_batch(std::span<const std::byte> packet)
{
    std::array<std::uint32_t, 2> head{};
    if (packet.size() < sizeof(head))
        return false;
    std::memcpy(head.data(), packet.data(), sizeof(head));
    return head[1] == static_cast<std::uint32_t>(session::control_kind::ep_batch);
}

kernel::mapping map(const kernel::unique_fd &file, std::size_t bytes)
{
    void *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    demand(at != MAP_FAILED, "a client cannot map what it was given");
    return {at, bytes};
}

} // namespace

std::size_t open_descriptors()
{
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

void await_descriptors(std::size_t count)
{
    constexpr std::chrono::seconds patience{5};
    for (const auto end = std::chrono::steady_clock::now() + patience; open_descriptors() != count;)
        demand(std::chrono::steady_clock::now() < end, "descriptors of ended sessions are left");
}

fake_client::fake_client(daemon_in_memory &daemon)
{
    int ends[2] = {-1, -1};
    demand(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "no socket pair");
    socket_ = kernel::unique_fd{ends[0]};
    session_ = std::make_unique<client_session>(daemon.resources(), kernel::unique_fd{ends[1]},
                                                std::make_shared<user_account>(0), holding{});
}

fake_client::reply fake_client::send(std::span<const std::byte> packet, int fd)
{
    reply answer;
    if (ended() || !session::send_packet(socket_.get(), packet.data(), packet.size(), {&fd, fd >= 0 ? 1U : 0U}))
        return answer;
    if (!session_->serve()) {
        session_.reset();
        return answer;
    }
    std::array<std::byte, session::most_control_bytes> bytes;
    const auto got = session::receive_packet(socket_.get(), bytes.data(), bytes.size(), answer.fds);
    if (!got) {
        demand(is_batch(packet), "a request without a reply");
        return answer;
    }
    answer.came = got->bytes == sizeof(answer.body);
    if (answer.came)
        std::memcpy(static_cast<void *>(&answer.body), bytes.data(), sizeof(answer.body));
    return answer;
}

fake_client::reply fake_client::ask(const session::session_request &request, int fd)
{
    return send(std::as_bytes(std::span{&request, 1}), fd);
}

fake_endpoint::fake_endpoint(daemon_in_memory &daemon, std::uint32_t depth) : on{daemon}, client{daemon}
{
    const kernel::unique_fd memory{::open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
    session::session_request wanted;
    const auto hello = client.ask(wanted, memory.get());
    demand(hello.done(), "hello is refused");
    bells = map(hello.fds[2], sizeof(session::bell_page));
    const std::uint32_t events = request(session::request_kind::open_events).number;
    pd = request(session::request_kind::allocate_pd).number;
    wanted.kind = session::request_kind::create_cq;
    wanted.cq = {.entries = 4 * depth, .channel = 0, .events = events, .reserved = 0};
    const auto cq = client.ask(wanted);
    demand(cq.done(), "a CQ is refused");
    const session::completion_layout made{cq.body.cq.entries};
    completions = map(cq.fds[0], made.bytes());
    done = made.completions(completions.get());
    wanted.kind = session::request_kind::create_qp;
    wanted.create = {.pd = pd,
                     .send_cq = cq.body.cq.number,
                     .receive_cq = cq.body.cq.number,
                     .events = events,
                     .send_depth = depth,
                     .receive_depth = depth,
                     .most_pieces = 4,
                     .most_inline = 64};
    const auto answer = client.ask(wanted);
    demand(answer.done(), "a queue pair is refused");
    qp = answer.body.qp;
    layout = {.send_capacity = qp.send_depth,
              .receive_capacity = qp.receive_depth,
              .most_pieces = qp.most_pieces,
              .most_inline = qp.most_inline};
    rings = map(answer.fds[0], layout.bytes());
}

session::session_reply fake_endpoint::request(session::request_kind kind, int fd, std::uint32_t number)
{
    session::session_request wanted;
    wanted.kind = kind;
    wanted.number = number;
    return client.ask(wanted, fd).body;
}

std::uint32_t fake_endpoint::register_memory(const void *at, std::size_t bytes)
{
    session::session_request wanted;
    wanted.kind = session::request_kind::register_memory;
    const auto address = reinterpret_cast<std::uint64_t>(at);
    wanted.memory = {.address = address,
                     .length = bytes,
                     .iova = address,
                     .offset = 0,
                     .pd = pd,
                     .access = session::access_remote_write | session::access_local_write};
    const auto answer = client.ask(wanted);
    demand(answer.done(), "memory is refused");
    return answer.body.number;
}

std::uint32_t fake_endpoint::register_memfd(int fd, std::size_t bytes)
{
    session::session_request wanted;
    wanted.kind = session::request_kind::register_memory;
    wanted.memory = {.address = 0,
                     .length = bytes,
                     .iova = 0,
                     .offset = 0,
                     .pd = pd,
                     .access = session::access_remote_write | session::access_local_write};
    const auto answer = client.ask(wanted, fd);
    demand(answer.done(), "a memfd is refused");
    return answer.body.number;
}

bool fake_endpoint::modify(protocol::qp_state to, const fake_endpoint *peer)
{
    session::session_request wanted;
    wanted.kind = session::request_kind::modify_qp;
    wanted.qp = {};
    wanted.qp.qpn = qp.qpn;
    wanted.qp.mask =
        session::qp_sets_state | (to == protocol::qp_state::init ? std::uint32_t{session::qp_sets_access} : 0U);
    wanted.qp.state = static_cast<std::uint8_t>(to);
    wanted.qp.access = session::access_remote_write;
    if (peer != nullptr) {
        wanted.qp.mask |= session::qp_sets_peer | session::qp_sets_receive_psn | session::qp_sets_send_psn;
        wanted.qp.peer_qpn = peer->qp.qpn;
        wanted.qp.peer = peer->on.address();
        wanted.qp.receive_psn = first_psn;
        wanted.qp.send_psn = first_psn;
    }
    return client.ask(wanted).done();
}

void connect(fake_endpoint &a, fake_endpoint &b)
{
    using protocol::qp_state;
    demand(a.modify(qp_state::init) && b.modify(qp_state::init), "no way to INIT");
    demand(a.modify(qp_state::ready_to_receive, &b) && b.modify(qp_state::ready_to_receive, &a), "no way to RTR");
    demand(a.modify(qp_state::ready_to_send) && b.modify(qp_state::ready_to_send), "no way to RTS");
}

honest_pair::honest_pair(daemon_in_memory &a, daemon_in_memory &b)
    : here_{a, 4}, there_{b, 4}, source_(size), target_(size), source_key_{here_.register_memory(source_.data(), size)},
      target_key_{there_.register_memory(target_.data(), size)}, sends_{here_.layout.sends(here_.rings.get())}
{
    connect(here_, there_);
}

void honest_pair::transfer(daemon_in_memory &a, daemon_in_memory &b)
{
    std::ranges::fill(source_, static_cast<std::byte>(++turn_));
    session::send_entry entry;
    entry.id = turn_;
    entry.remote_address = reinterpret_cast<std::uint64_t>(target_.data());
    entry.rkey = target_key_;
    entry.flags = session::send_signaled;
    entry.pieces = 1;
    entry.first = {.address = reinterpret_cast<std::uint64_t>(source_.data()), .length = size, .lkey = source_key_};
    demand(sends_.push(entry), "the send queue of the client beside is full");
    static_cast<session::bell_page *>(here_.bells.get())->ring(here_.qp.bell);
    session::completion_entry done;
    unsigned rounds = 0;
    while (!here_.done.pop(done)) {
        demand(++rounds < rounds_to_finish, "the client beside waits for ever");
        run(a, b, 1);
    }
    demand(done.status == 0 && done.id == turn_, "the client beside met an error");
    demand(source_ == target_, "the client beside received other bytes");
}

} // namespace mrc::fuzz
