// SPDX-License-Identifier: Apache-2.0
#include "client/daemon_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "session/fd_passing.h"

namespace mrc::client
{

namespace
{

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

std::optional<sockaddr_un> address_of(const daemon_instance &where)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (where.socket.size() >= sizeof(address.sun_path))
        return std::nullopt;
    std::memcpy(address.sun_path, where.socket.c_str(), where.socket.size());
    return address;
}

std::unexpected<session_error> silent(const daemon_instance &where)
{
    return failure("mrcd does not answer at '" + where.socket + "'", ETIMEDOUT);
}

std::unexpected<session_error> unreachable(const daemon_instance &where, int error)
{
    return failure("cannot reach mrcd at '" + where.socket + "'", error);
}

// EAGAIN: its queue is full, as nobody has accepted within `patience`.
result<kernel::unique_fd> connected(const daemon_instance &where, int more_flags, std::chrono::milliseconds patience)
{
    if (where.socket.empty())
        return failure("'" + where.name + "' is no name of an instance", EINVAL);
    const auto address = address_of(where);
    if (!address)
        return failure("socket path '" + where.socket + "'", ENAMETOOLONG);
    kernel::unique_fd socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | more_flags, 0)};
    if (!socket)
        return unreachable(where, errno);
    set_patience(socket, patience);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof(*address)) != 0)
        return unreachable(where, errno);
    return socket;
}

result<host_description> answer_on(const kernel::unique_fd &socket)
{
    session::session_reply reply;
    auto received = session::receive_packet(socket.get(), &reply, sizeof(reply), {});
    if (!received && errno == ECONNRESET) // told once, before what the daemon said last
        received = session::receive_packet(socket.get(), &reply, sizeof(reply), {});
    if (!received || received->bytes != sizeof(reply))
        return failure("mrcd closed the connection", received ? ECONNRESET : errno);
    reply.text[sizeof(reply.text) - 1] = '\0';
    if (reply.error != 0)
        return std::unexpected{session_error{reply.error, reply.text}};
    return description_of(reply.host);
}

// How often a daemon is tried again whose queue is full: for this, nothing can be polled.
constexpr std::chrono::milliseconds full_queue_retry{2};

// One daemon that is asked to describe its host.
class inquiry
{
public:
    explicit inquiry(const daemon_instance &where) : where_{where}, answer_{silent(where)} {}

    [[nodiscard]] bool is_open() const { return open_; }
    [[nodiscard]] bool waits_for_queue() const { return open_ && !socket_; }
    [[nodiscard]] pollfd awaited() const
    {
        return {.fd = open_ && socket_ ? socket_.get() : -1, .events = POLLIN, .revents = 0};
    }

    void try_asking()
    {
        if (!waits_for_queue())
            return;
        auto socket = connected(where_, SOCK_NONBLOCK, {});
        if (socket) {
            socket_ = std::move(*socket);
            session::session_request request;
            request.kind = session::request_kind::describe;
            // What a daemon said that turned this one away comes all the same.
            (void)session::send_packet(socket_.get(), &request, sizeof(request), {});
        } else if (socket.error().code != EAGAIN) {
            close(std::unexpected{socket.error()});
        }
    }
    void take_answer() { close(answer_on(socket_)); }
    [[nodiscard]] result<host_description> answer() && { return std::move(answer_); }

private:
    void close(result<host_description> answer)
    {
        answer_ = std::move(answer);
        open_ = false;
    }

    const daemon_instance &where_;
    kernel::unique_fd socket_;
    result<host_description> answer_; // what holds if none comes
    bool open_ = true;
};

} // namespace

host_description description_of(const session::host_reply &host)
{
    host_description described;
    described.instance = host.instance;
    described.addresses.push_back(host.address);
    if (std::ranges::any_of(host.address4.bytes, [](std::uint8_t byte) { return byte != 0; }))
        described.addresses.push_back(host.address4);
    described.payload_bytes = host.payload_bytes;
    for (std::uint32_t plane = 0; plane < std::min<std::uint32_t>(host.planes, session::max_planes); ++plane) {
        const session::port_reply &port = host.ports[plane];
        described.ports.push_back({.up = port.up != 0,
                                   .enabled = port.enabled != 0,
                                   .mtu = port.mtu,
                                   .bits_per_second = std::uint64_t{port.gbps} * 1'000'000'000});
    }
    described.guid = host.guid;
    described.max_qps = host.max_qps;
    described.max_regions = host.max_regions;
    described.max_region_bytes = host.max_bytes;
    described.max_cqs = host.max_cqs;
    described.max_cq_entries = host.max_cq_entries;
    described.max_work_requests = host.max_requests;
    described.max_mpr = static_cast<std::uint8_t>(host.max_mpr);
    described.max_wimm = static_cast<std::uint16_t>(host.max_wimm);
    return described;
}

std::unexpected<session_error> failure(const std::string &what, int error)
{
    return std::unexpected{session_error{error, what + ": " + std::strerror(error)}};
}

std::unexpected<session_error> failure(const std::string &what)
{
    return failure(what, errno);
}

void set_patience(const kernel::unique_fd &socket, std::chrono::milliseconds patience)
{
    const timeval limit{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

result<kernel::unique_fd> connect_to(const daemon_instance &where, std::chrono::milliseconds patience)
{
    auto socket = connected(where, 0, patience);
    if (!socket && socket.error().code == EAGAIN)
        return silent(where);
    return socket;
}

std::vector<result<host_description>> describe_instances(std::span<const daemon_instance> all)
{
    return describe_instances(all, all.size() == 1 ? opening_patience : answer_patience);
}

std::vector<result<host_description>> describe_instances(std::span<const daemon_instance> all,
                                                         std::chrono::milliseconds patience)
{
    std::vector<inquiry> inquiries;
    inquiries.reserve(all.size());
    for (const daemon_instance &where : all)
        inquiries.emplace_back(where);
    std::vector<pollfd> waiting(all.size());
    const auto end = clock::now() + patience;
    for (auto left = patience; left > 0ms; left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now())) {
        for (inquiry &each : inquiries)
            each.try_asking();
        if (std::ranges::none_of(inquiries, &inquiry::is_open))
            break;
        std::ranges::transform(inquiries, waiting.begin(), &inquiry::awaited);
        const auto wait =
            std::ranges::any_of(inquiries, &inquiry::waits_for_queue) ? std::min(left, full_queue_retry) : left;
        const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(wait.count()));
        for (std::size_t i = 0; ready > 0 && i < waiting.size(); ++i)
            if (waiting[i].revents != 0)
                inquiries[i].take_answer();
    }
    std::vector<result<host_description>> answers;
    answers.reserve(all.size());
    for (inquiry &each : inquiries)
        answers.push_back(std::move(each).answer());
    return answers;
}

} // namespace mrc::client
