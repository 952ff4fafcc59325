// SPDX-License-Identifier: Apache-2.0
#include "service/session_client.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "service/fd_passing.h"

namespace mrc::service
{

namespace
{

std::unexpected<session_error> failure(const std::string &what, int error = errno)
{
    return std::unexpected{session_error{error, what + ": " + std::strerror(error)}};
}

datapath::mapping map_shared(int fd, std::size_t bytes, int protection)
{
    void *address = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
    return address == MAP_FAILED ? datapath::mapping{} : datapath::mapping{address, bytes};
}

} // namespace

session_result<std::string> session::default_socket()
{
    static const std::filesystem::path root{"/run/mrc"};
    if (const char *instance = std::getenv("MRC_INSTANCE"); instance != nullptr && *instance != '\0')
        return (root / instance / "mrcd.sock").string();
    std::vector<std::string> found;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator{root, error})
        if (std::filesystem::exists(entry.path() / "mrcd.sock", error))
            found.push_back((entry.path() / "mrcd.sock").string());
    if (found.size() == 1)
        return found.front();
    return std::unexpected{
        session_error{ENOENT, found.empty() ? "no mrcd is running on this host (no socket under /run/mrc)"
                                            : "several mrcd run on this host: name one with MRC_INSTANCE or --socket"}};
}

session_result<session> session::open(const std::string &socket_path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof(address.sun_path))
        return failure("socket path '" + socket_path + "'", ENAMETOOLONG);
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size());
    datapath::unique_fd socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
        return failure("cannot reach mrcd at '" + socket_path + "'");

    session opened{std::move(socket)};
    std::array<datapath::unique_fd, 2> fds;
    const auto reply = opened.exchange({}, -1, fds);
    if (!reply)
        return std::unexpected{reply.error()};
    opened.hello_ = reply->hello;
    opened.doorbell_ = std::move(fds[0]);
    opened.worker_page_ = map_shared(fds[1].get(), sizeof(datapath::worker_status), PROT_READ);
    if (!opened.worker_page_)
        return failure("cannot map the worker's status page");
    return opened;
}

session_result<session_reply> session::exchange(const session_request &request, int fd_out,
                                                std::span<datapath::unique_fd> fds_in)
{
    if (!send_packet(socket_.get(), &request, sizeof(request), {&fd_out, fd_out >= 0 ? 1U : 0U}))
        return failure("cannot send to mrcd");
    session_reply reply;
    const auto received = receive_packet(socket_.get(), &reply, sizeof(reply), fds_in);
    if (!received || received->bytes != sizeof(reply))
        return failure("mrcd closed the session", received ? EPROTO : errno);
    if (reply.error != 0)
        return std::unexpected{session_error{reply.error, reply.text}};
    if (received->fds != fds_in.size())
        return failure("mrcd's reply lacks descriptors", EPROTO);
    return reply;
}

session_result<registered_memory> session::allocate(std::uint64_t bytes, std::uint32_t access)
{
    const datapath::unique_fd file{::memfd_create("mrc-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        return failure("cannot allocate " + std::to_string(bytes) + " bytes of shared memory");
    registered_memory memory;
    memory.memory_ = map_shared(file.get(), bytes, PROT_READ | PROT_WRITE);
    if (!memory.memory_)
        return failure("cannot map " + std::to_string(bytes) + " bytes of shared memory");
    session_request request;
    request.kind = request_kind::register_memory;
    request.memory = {.va = memory.address(), .length = bytes, .offset = 0, .access = access, .reserved = 0};
    const auto reply = exchange(request, file.get());
    if (!reply)
        return std::unexpected{reply.error()};
    memory.key_ = reply->key;
    return memory;
}

session_result<void> session::release(registered_memory &memory)
{
    session_request request;
    request.kind = request_kind::deregister_memory;
    request.key = memory.key();
    if (const auto reply = exchange(request); !reply)
        return std::unexpected{reply.error()};
    memory = {};
    return {};
}

session_result<session_qp> session::create_qp(std::uint32_t send_depth)
{
    session_request request;
    request.kind = request_kind::create_qp;
    request.create = {.send_depth = send_depth, .reserved = 0};
    std::array<datapath::unique_fd, 2> fds;
    const auto reply = exchange(request, -1, fds);
    if (!reply)
        return std::unexpected{reply.error()};
    session_qp qp;
    qp.reply_ = reply->qp;
    const datapath::queue_pair_layout layout{.send_capacity = reply->qp.send_depth,
                                             .completion_capacity = reply->qp.completion_depth};
    qp.rings_ = map_shared(fds[0].get(), layout.bytes(), PROT_READ | PROT_WRITE);
    if (!qp.rings_)
        return failure("cannot map the rings of a queue pair");
    qp.sends_ = layout.sends(qp.rings_.get());
    qp.completions_ = layout.completions(qp.rings_.get());
    qp.completion_event_ = std::move(fds[1]);
    return qp;
}

session_result<void> session::connect(const session_qp &qp, const connect_request &peer)
{
    session_request request;
    request.kind = request_kind::connect_qp;
    request.connect = peer;
    request.connect.qpn = qp.qpn();
    if (const auto reply = exchange(request); !reply)
        return std::unexpected{reply.error()};
    return {};
}

session_result<void> session::destroy(session_qp &qp)
{
    session_request request;
    request.kind = request_kind::destroy_qp;
    request.qpn = qp.qpn();
    if (const auto reply = exchange(request); !reply)
        return std::unexpected{reply.error()};
    qp = {};
    return {};
}

bool session::post(session_qp &qp, const datapath::send_entry &request)
{
    if (!qp.sends_.push(request))
        return false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    auto *status = static_cast<datapath::worker_status *>(worker_page_.get());
    if (__atomic_load_n(&status->sleeping, __ATOMIC_RELAXED) != 0) { // atomic_ref wants a writable page
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(doorbell_.get(), &one, sizeof(one));
    }
    return true;
}

std::optional<datapath::completion_entry> session::poll(session_qp &qp)
{
    datapath::completion_entry entry;
    return qp.completions_.pop(entry) ? std::optional{entry} : std::nullopt;
}

bool session::wait(std::span<session_qp> qps, std::span<const int> others, std::chrono::milliseconds limit)
{
    const auto pollable = [&] { return std::ranges::any_of(qps, [](auto &qp) { return !qp.completions_.empty(); }); };
    std::vector<pollfd> fds{{.fd = socket_.get(), .events = POLLIN, .revents = 0}};
    for (const int fd : others)
        fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    for (session_qp &qp : qps) {
        qp.completions_.set_waiting(true);
        fds.push_back({.fd = qp.completion_event_.get(), .events = POLLIN, .revents = 0});
    }
    if (!pollable())
        ::poll(fds.data(), fds.size(), static_cast<int>(limit.count()));
    for (session_qp &qp : qps) {
        qp.completions_.set_waiting(false);
        std::array<std::byte, 4096> signals;
        [[maybe_unused]] const ssize_t cleared = ::read(qp.completion_event_.get(), signals.data(), signals.size());
    }
    return pollable();
}

bool session::daemon_gone() const
{
    pollfd state{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&state, 1, 0) == 1; // the daemon never speaks unasked: readable means closed
}

session_result<qp_report> session::query(const session_qp &qp)
{
    session_request request;
    request.kind = request_kind::query_qp;
    request.qpn = qp.qpn();
    const auto reply = exchange(request);
    if (!reply)
        return std::unexpected{reply.error()};
    return reply->report;
}

session_result<void> session::reset_progress(const session_qp &qp)
{
    session_request request;
    request.kind = request_kind::reset_progress;
    request.qpn = qp.qpn();
    if (const auto reply = exchange(request); !reply)
        return std::unexpected{reply.error()};
    return {};
}

session_result<status_report> session::status()
{
    session_request request;
    request.kind = request_kind::query_status;
    const auto reply = exchange(request);
    if (!reply)
        return std::unexpected{reply.error()};
    return reply->status;
}

} // namespace mrc::service
