// SPDX-License-Identifier: Apache-2.0
#include "client/daemon_session.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/socket.h>

#include "client/daemon_socket.h"
#include "client/embedded.h"
#include "client/shared_memory.h"
#include "session/control_protocol.h"
#include "session/fd_passing.h"

namespace mrc::client
{

namespace
{

// Queues of up to this size have all their pages from the start: no post waits for one, and a program's memory does not
// grow for as long as it goes round them for the first time.
constexpr std::size_t mapped_at_once = std::size_t{64} << 10;

kernel::mapping map_shared(const kernel::unique_fd &file, std::size_t bytes, int protection)
{
    const int pages = bytes <= mapped_at_once ? MAP_POPULATE : 0;
    void *at = ::mmap(nullptr, bytes, protection, MAP_SHARED | pages, file.get(), 0);
    return at == MAP_FAILED ? kernel::mapping{} : kernel::mapping{at, bytes};
}

session::session_request request_of(session::request_kind kind, std::uint32_t number = 0)
{
    session::session_request request;
    request.kind = kind;
    request.number = number;
    return request;
}

} // namespace

result<std::shared_ptr<daemon_channel>> daemon_channel::open(const daemon_instance &where)
{
    auto connected = daemon_session::connect(where);
    if (!connected)
        return std::unexpected{connected.error()};
    return *connected;
}

result<std::shared_ptr<daemon_session>> daemon_session::connect(const daemon_instance &where)
{
    auto socket = connect_to(where, opening_patience);
    if (!socket)
        return std::unexpected{socket.error()};
    std::shared_ptr<daemon_session> made{new daemon_session{where, std::move(*socket)}};
    if (const auto reply = made->say_hello(); !reply)
        return std::unexpected{reply.error()};
    auto events = made->open_events();
    if (!events)
        return std::unexpected{events.error()};
    made->events_ = std::move(*events);
    ::fcntl(made->event_fd(), F_SETFL, O_NONBLOCK);
    if (const session::embedded_worker *own = embedding_wanted() ? embedded_daemon() : nullptr;
        own != nullptr && where.socket == own->socket)
        made->inside_ = own;
    made->be_patient_for({}); // it answers, and a request is given up half-way only for who wants that
    return made;
}

result<session::session_reply> daemon_session::say_hello()
{
    // Fails in a process that is not dumpable; then only shared memory can be registered.
    const kernel::unique_fd memory{::open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
    std::array<kernel::unique_fd, 3> fds;
    auto reply = exchange(request_of(session::request_kind::hello), memory.get(), fds);
    if (!reply)
        return reply;
    process_memory_ = reply->host.process_memory != 0;
    doorbell_ = std::move(fds[0]);
    worker_page_ = map_shared(fds[1], sizeof(session::worker_status), PROT_READ);
    bell_memory_ = map_shared(fds[2], sizeof(session::bell_page), PROT_READ | PROT_WRITE);
    if (!doorbell_ || !worker_page_ || !bell_memory_)
        return failure("cannot map the worker's pages", errno == EBADF ? EMFILE : errno);
    return reply;
}

result<session::session_reply> daemon_session::exchange(const session::session_request &request, int fd_out,
                                                        std::span<kernel::unique_fd> fds_in)
{
    const std::scoped_lock turn{turn_};
    if (gone_)
        return failure("mrcd has gone", ECONNRESET);
    const bool sent = session::send_packet(socket_.get(), &request, sizeof(request), {&fd_out, fd_out >= 0 ? 1U : 0U});
    const int why_unsent = errno;
    session::session_reply reply;
    auto received = session::receive_packet(socket_.get(), &reply, sizeof(reply), fds_in);
    if (!received && errno == ECONNRESET) // told once, before what the daemon said last
        received = session::receive_packet(socket_.get(), &reply, sizeof(reply), fds_in);
    if (!received || received->bytes != sizeof(reply)) {
        gone_ = true;
        if (sent && !received && (errno == EAGAIN || errno == EWOULDBLOCK))
            return failure("mrcd does not answer", ETIMEDOUT);
        return sent ? failure("mrcd closed the session", received ? ECONNRESET : errno)
                    : failure("cannot send to mrcd", why_unsent);
    }
    reply.text[sizeof(reply.text) - 1] = '\0';
    if (reply.error == EOPNOTSUPP) // what the daemon does not know it cannot name
        return std::unexpected{session_error{EOPNOTSUPP, std::string{name_of(request.kind)} + ": " + reply.text}};
    if (reply.error != 0)
        return std::unexpected{session_error{reply.error, reply.text}};
    return reply;
}

result<std::vector<std::byte>> daemon_session::control(std::span<const std::byte> request)
{
    const std::scoped_lock turn{turn_};
    if (gone_)
        return failure("mrcd has gone", ECONNRESET);
    auto reply = exchange_control(socket_.get(), request);
    if (!reply)
        gone_ = true;
    return reply;
}

void daemon_session::be_patient_for(std::chrono::milliseconds patience)
{
    const std::scoped_lock turn{turn_};
    set_patience(socket_, patience);
}

result<control_line> daemon_session::open_line(std::chrono::milliseconds patience) const
{
    if (gone())
        return failure("mrcd has gone", ECONNRESET);
    return control_line::open(where_, patience);
}

bool daemon_session::gone() const
{
    if (!gone_) {
        pollfd state{.fd = socket_.get(), .events = POLLRDHUP, .revents = 0};
        if (::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0)
            gone_ = true;
    }
    return gone_;
}

void daemon_session::clear_events()
{
    std::array<session::event_record, 64> records;
    while (::read(event_fd(), records.data(), sizeof(records)) == sizeof(records))
        continue;
}

result<session::host_reply> daemon_session::host()
{
    return map(exchange(request_of(session::request_kind::describe)), [](const auto &reply) { return reply.host; });
}

result<host_description> daemon_session::describe()
{
    return map(host(), description_of);
}

result<std::uint32_t> daemon_session::allocate_pd()
{
    return map(exchange(request_of(session::request_kind::allocate_pd)),
               [](const auto &reply) { return reply.number; });
}

result<void> daemon_session::deallocate_pd(std::uint32_t pd)
{
    return act(session::request_kind::deallocate_pd, pd);
}

result<void> daemon_session::act(session::request_kind kind, std::uint32_t number)
{
    return map(exchange(request_of(kind, number)), [](const auto &) {});
}

result<memory_keys> daemon_session::register_memory(std::uint32_t pd, void *address, std::uint64_t length,
                                                    std::uint64_t iova, std::uint32_t access)
{
    session::session_request request;
    request.kind = session::request_kind::register_memory;
    request.memory = {.address = reinterpret_cast<std::uint64_t>(address),
                      .length = length,
                      .iova = iova,
                      .offset = 0,
                      .pd = pd,
                      .access = ((access & IBV_ACCESS_REMOTE_WRITE) != 0 ? session::access_remote_write : 0) |
                                ((access & IBV_ACCESS_LOCAL_WRITE) != 0 ? session::access_local_write : 0)};
    const std::optional<mapped_range> mapped = mapped_at(address, length);
    const std::optional<shared_range> shared = shared_range_at(address, length, mapped);
    const bool writable = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
    if (shared)
        request.memory.offset = shared->offset;
    if (mapped && (!mapped->readable || (writable && !mapped->writable)))
        return failure("not all of the range is mapped with that access", EFAULT);
    // All pages of a file, for the daemon refuses one with holes: their memory is this process's.
    if (const int error = bring_in(address, length, writable || shared.has_value()); error != 0)
        return failure("not all of the range can be brought into memory", error);
    return map(exchange(request, shared ? shared->file : -1),
               [](const auto &reply) { return memory_keys{.lkey = reply.number, .rkey = reply.number}; });
}

result<void> daemon_session::deregister_memory(std::uint32_t lkey)
{
    return act(session::request_kind::deregister_memory, lkey);
}

result<event_pipe> daemon_session::open_pipe(session::request_kind kind, session::request_kind undo)
{
    std::array<kernel::unique_fd, 1> fds;
    const auto reply = exchange(request_of(kind), -1, fds);
    if (!reply)
        return std::unexpected{reply.error()};
    if (!fds[0]) {
        (void)act(undo, reply->number);
        return failure("cannot open a pipe of mrcd", EMFILE);
    }
    ::fcntl(fds[0].get(), F_SETFL, 0); // as verbs' descriptors: the application may set O_NONBLOCK
    return event_pipe{.number = reply->number, .end = std::move(fds[0])};
}

result<event_pipe> daemon_session::open_events()
{
    return open_pipe(session::request_kind::open_events, session::request_kind::close_events);
}

result<event_pipe> daemon_session::create_channel()
{
    return open_pipe(session::request_kind::create_channel, session::request_kind::destroy_channel);
}

result<shared_object<session::cq_reply>> daemon_session::create_cq(const session::cq_request &wanted)
{
    session::session_request request;
    request.kind = session::request_kind::create_cq;
    request.cq = wanted;
    std::array<kernel::unique_fd, 1> fds;
    const auto reply = exchange(request, -1, fds);
    if (!reply)
        return std::unexpected{reply.error()};
    shared_object<session::cq_reply> made{
        .reply = reply->cq,
        .memory = map_shared(fds[0], session::completion_layout{reply->cq.entries}.bytes(), PROT_READ | PROT_WRITE)};
    if (!made.memory) {
        (void)act(session::request_kind::destroy_cq, reply->cq.number);
        return failure("cannot map a completion queue", fds[0] ? ENOMEM : EMFILE);
    }
    return made;
}

result<shared_object<session::qp_reply>> daemon_session::create_qp(const session::qp_request &wanted)
{
    session::session_request request;
    request.kind = session::request_kind::create_qp;
    request.create = wanted;
    std::array<kernel::unique_fd, 1> fds;
    const auto reply = exchange(request, -1, fds);
    if (!reply)
        return std::unexpected{reply.error()};
    const session::queue_pair_layout layout{.send_capacity = reply->qp.send_depth,
                                            .receive_capacity = reply->qp.receive_depth,
                                            .most_pieces = reply->qp.most_pieces,
                                            .most_inline = reply->qp.most_inline};
    shared_object<session::qp_reply> made{.reply = reply->qp,
                                          .memory = map_shared(fds[0], layout.bytes(), PROT_READ | PROT_WRITE)};
    if (!made.memory) {
        (void)act(session::request_kind::destroy_qp, reply->qp.qpn);
        return failure("cannot map the rings of a queue pair", fds[0] ? ENOMEM : EMFILE);
    }
    return made;
}

result<session::qp_attributes> daemon_session::modify_qp(const session::qp_attributes &wanted)
{
    session::session_request request;
    request.kind = session::request_kind::modify_qp;
    request.qp = wanted;
    return map(exchange(request), [](const auto &reply) { return reply.attributes; });
}

result<session::qp_attributes> daemon_session::query_qp(std::uint32_t qpn)
{
    return map(exchange(request_of(session::request_kind::query_qp, qpn)),
               [](const auto &reply) { return reply.attributes; });
}

result<session::qp_report> daemon_session::report_qp(std::uint32_t qpn)
{
    return map(exchange(request_of(session::request_kind::report_qp, qpn)),
               [](const auto &reply) { return reply.report; });
}

result<session::status_report> daemon_session::status()
{
    return map(exchange(request_of(session::request_kind::query_status)),
               [](const auto &reply) { return reply.status; });
}

void daemon_session::ring(std::uint32_t bell, bool at_once)
{
    static_cast<session::bell_page *>(bell_memory_.get())->ring(bell);
    const auto *status = static_cast<const session::worker_status *>(worker_page_.get());
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const auto sleeps = [status] {
        return __atomic_load_n(&status->sleeping, __ATOMIC_RELAXED) != 0; // atomic_ref wants a writable page
    };
    if (at_once && make_round(session::round_for::post))
        return;
    if (sleeps()) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(doorbell_.get(), &one, sizeof(one));
    }
}

} // namespace mrc::client
