// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/passive_endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <sys/socket.h>

#include "fi_provider/endpoint_options.h"
#include "fi_provider/refusals.h"
#include "messaging/failure.h"
#include "messaging/open_device.h"

namespace mrc::fi_provider
{

namespace
{

constexpr std::size_t most_guests = 128; // that have said nothing yet; the oldest leaves for a new one
constexpr int usual_backlog = 128;
// Told of and neither accepted nor rejected: further connections wait in the kernel.
constexpr std::size_t most_unanswered = 1024;
constexpr std::chrono::milliseconds pause{100}; // once there are so many, or no descriptor is left

int control_passive(fid *of, int command, void *argument)
{
    if (command != FI_BACKLOG)
        return -FI_ENOSYS;
    const int connections = *static_cast<const int *>(argument);
    if (connections <= 0)
        return -FI_EINVAL;
    passive_of(of).set_backlog(connections);
    return 0;
}

fi_ops passive_ops{.size = sizeof(fi_ops),
                   .close =
                       [](fid *of) {
                           delete &passive_of(of);
                           return 0;
                       },
                   .bind =
                       [](fid *of, fid *what, std::uint64_t) {
                           if (what->fclass != FI_CLASS_EQ)
                               return -FI_EINVAL;
                           passive_of(of).bind(*static_cast<fi_event_queue *>(reinterpret_cast<fid_eq *>(what)));
                           return 0;
                       },
                   .control = control_passive,
                   .ops_open = refuse_ops,
                   .tostr = nullptr,
                   .ops_set = nullptr};

fi_ops_cm passive_calls{
    .size = sizeof(fi_ops_cm),
    .setname =
        [](fid_t of, void *address, std::size_t) {
            const auto wanted = messaging::socket_address::from(static_cast<const sockaddr *>(address));
            return wanted ? passive_of(of).set_address(*wanted) : -FI_EINVAL;
        },
    .getname = [](fid_t of, void *into,
                  std::size_t *bytes) { return tell_address(passive_of(of).address(), into, bytes); },
    .getpeer = MRC_FI_REFUSED(fi_ops_cm, getpeer),
    .connect = MRC_FI_REFUSED(fi_ops_cm, connect),
    .listen = [](fid_pep *of) { return static_cast<passive_endpoint *>(of)->listen(); },
    .accept = MRC_FI_REFUSED(fi_ops_cm, accept),
    .reject =
        [](fid_pep *of, fid_t handle, const void *data, std::size_t bytes) {
            return bytes > connect_data_bytes ? -FI_EINVAL
                                              : static_cast<passive_endpoint *>(of)->reject(
                                                    handle, {static_cast<const std::byte *>(data), bytes});
        },
    .shutdown = MRC_FI_REFUSED(fi_ops_cm, shutdown),
    .join = MRC_FI_REFUSED(fi_ops_cm, join)};

} // namespace

passive_endpoint &passive_of(fid_t of)
{
    return *static_cast<passive_endpoint *>(reinterpret_cast<fid_pep *>(of));
}

std::unique_ptr<connect_request> take_request(fid_t handle)
{
    static_assert(offsetof(connect_request, handle) == 0);
    return std::unique_ptr<connect_request>{reinterpret_cast<connect_request *>(handle)};
}

passive_endpoint::passive_endpoint(fabric &in, const fi_info &info, void *context)
    : fid_pep{.fid = {.fclass = FI_CLASS_PEP, .context = context, .ops = &passive_ops},
              .ops = &endpoint_options,
              .cm = &passive_calls},
      in_{in}, fabric_use_{in}, gid_{messaging::open_device().gid}, info_{::fi_dupinfo(&info)}, backlog_{usual_backlog},
      places_{std::make_shared<char>()}
{
    if (!info_)
        throw messaging::messaging_failure{"out of memory"};
    if (info.src_addr == nullptr)
        return;
    const auto given = messaging::socket_address::from(static_cast<const sockaddr *>(info.src_addr));
    if (!given)
        throw messaging::messaging_failure{"no address to listen on"};
    if (set_address(*given) != 0)
        throw messaging::messaging_failure{"cannot listen on " + given->text() + ": " + std::strerror(errno)};
}

passive_endpoint::~passive_endpoint()
{
    const auto held = in_.connections.lock();
    in_.connections.remove(*this);
    if (events_ != nullptr)
        events_->forget(&fid);
}

void passive_endpoint::bind(fi_event_queue &events)
{
    events_ = &events;
    events_use_ = use_of{events};
}

int passive_endpoint::set_address(const messaging::socket_address &wanted)
{
    address_ = wanted;
    fd_ = kernel::unique_fd{::socket(wanted.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    sockaddr_storage stored{};
    socklen_t length = wanted.store(stored);
    auto *any = reinterpret_cast<sockaddr *>(&stored);
    const int yes = 1;
    const int no = 0;
    if (fd_ && wanted.family == AF_INET6)
        (void)::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)); // "any" is any of IPv4, too
    if (!fd_ || ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        ::bind(fd_.get(), any, length) != 0 || ::getsockname(fd_.get(), any, &length) != 0)
        return -errno;
    const auto bound = messaging::socket_address::from(any);
    if (wanted.bytes == decltype(wanted.bytes){}) // others have to be told which
        if (const auto own = own_address(wanted.family == AF_INET ? AF_INET : AF_UNSPEC, gid_))
            address_ = *own;
    address_.port = bound ? bound->port : 0;
    return 0;
}

int passive_endpoint::listen()
{
    if (events_ == nullptr)
        return -FI_ENOEQ;
    if (!fd_)
        return -FI_EADDRNOTAVAIL;
    if (::listen(fd_.get(), backlog_) != 0)
        return -errno;
    const auto held = in_.connections.lock();
    in_.connections.add(*this);
    return 0;
}

int passive_endpoint::reject(fid_t handle, std::span<const std::byte> data)
{
    const auto request = take_request(handle);
    request->socket.queue(
        connect_message{.kind = connect_kind::reject, .address = {}, .data = {data.begin(), data.end()}}.encode());
    (void)request->socket.send(); // fits into an empty buffer
    return 0;
}

void passive_endpoint::wants(std::vector<pollfd> &descriptors, clock::time_point &due)
{
    if (resume_at_)
        due = std::min(due, *resume_at_);
    else
        descriptors.push_back({.fd = fd_.get(), .events = POLLIN, .revents = 0});
    for (const auto &one : guests_)
        descriptors.push_back({.fd = one->socket.fd(), .events = POLLIN, .revents = 0});
}

void passive_endpoint::proceed(clock::time_point now)
{
    if (!resume_at_ || now >= *resume_at_)
        take_guests(now);
    std::erase_if(guests_, [&](std::unique_ptr<connect_request> &one) { return is_done(one); });
}

void passive_endpoint::take_guests(clock::time_point now)
{
    resume_at_.reset();
    while (unanswered() < most_unanswered) {
        sockaddr_storage from{};
        socklen_t length = sizeof(from);
        auto *any = reinterpret_cast<sockaddr *>(&from);
        kernel::unique_fd fd{::accept4(fd_.get(), any, &length, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        if (!fd && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
            break;
        if (!fd)
            continue; // that one has gone
        if (guests_.size() == most_guests)
            guests_.pop_front();
        guests_.push_back(std::make_unique<connect_request>());
        guests_.back()->from = messaging::socket_address::from(any);
        guests_.back()->socket = messaging::exchange_socket{std::move(fd)};
    }
    resume_at_ = now + pause; // the socket stays readable: no use in waiting for that
}

// It is told of, or turned away.
bool passive_endpoint::is_done(std::unique_ptr<connect_request> &guest)
{
    connect_request &one = *guest;
    const messaging::exchange_step step = one.socket.receive(connect_message::encoded_bytes);
    if (step == messaging::exchange_step::waits)
        return false;
    auto said = step == messaging::exchange_step::done ? connect_message::decode(one.socket.received())
                                                       : std::optional<connect_message>{};
    if (!said || said->kind != connect_kind::request) {
        FI_INFO(&provider(), FI_LOG_EP_CTRL, "%s: somebody who is no endpoint of this provider was turned away\n",
                address_.text().c_str());
        return true;
    }
    fi_info *info = ::fi_dupinfo(info_.get());
    if (info == nullptr)
        return true;
    one.said = std::move(*said);
    one.handle = {.fclass = FI_CLASS_CONNREQ, .context = nullptr, .ops = nullptr};
    info->handle = &one.handle;
    std::free(info->dest_addr);
    info->dest_addr = one.from ? allocated_copy(*one.from, info->dest_addrlen) : nullptr;
    one.place = places_;
    (void)guest.release(); // whoever reads the event accepts or rejects it
    events_->connection_event(FI_CONNREQ, &fid, info, one.said.data);
    return true;
}

} // namespace mrc::fi_provider
