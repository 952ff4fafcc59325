// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace mrc::kernel
{

namespace
{

constexpr std::size_t buffer_bytes = 1 << 16; // a link with many virtual functions needs more than a page
constexpr int socket_buffer_bytes = 1 << 20;  // some thousand notifications between two reads
constexpr timeval answer_timeout{.tv_sec = 2, .tv_usec = 0};

constexpr std::size_t aligned(std::size_t length)
{
    return (length + NLMSG_ALIGNTO - 1) & ~(std::size_t{NLMSG_ALIGNTO} - 1);
}

std::error_code last_error()
{
    return {errno, std::generic_category()};
}

// Cuts the first message off `datagram`; false at its end.
bool next_message(std::span<const std::byte> &datagram, nlmsghdr &header, netlink_message &message)
{
    if (datagram.size() < sizeof header)
        return false;
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size())
        return false;
    message = {.type = header.nlmsg_type, .payload = datagram.subspan(sizeof header, header.nlmsg_len - sizeof header)};
    datagram = datagram.subspan(std::min<std::size_t>(datagram.size(), aligned(header.nlmsg_len)));
    return true;
}

// NLMSG_DONE and NLMSG_ERROR both start with a negative errno, or 0.
std::error_code result_of(const netlink_message &message)
{
    int error = 0;
    return read_header(message, error) ? std::error_code{-error, std::generic_category()}
                                       : std::make_error_code(std::errc::bad_message);
}

} // namespace

void for_each_attribute(const netlink_message &message, std::size_t header_bytes,
                        const std::function<void(const netlink_attribute &)> &handler)
{
    auto rest = message.payload.subspan(std::min(message.payload.size(), aligned(header_bytes)));
    rtattr header{};
    while (rest.size() >= sizeof header) {
        std::memcpy(&header, rest.data(), sizeof header);
        if (header.rta_len < sizeof header || header.rta_len > rest.size())
            return;
        handler({.type = static_cast<std::uint16_t>(header.rta_type & NLA_TYPE_MASK),
                 .value = rest.subspan(sizeof header, header.rta_len - sizeof header)});
        rest = rest.subspan(std::min(rest.size(), aligned(header.rta_len)));
    }
}

netlink_request::netlink_request(std::uint16_t type, std::uint16_t flags, std::span<const std::byte> header)
    : type_{type}, flags_{flags}, bytes_(sizeof(nlmsghdr))
{
    append(header);
}

void netlink_request::append(std::span<const std::byte> value)
{
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    bytes_.resize(aligned(bytes_.size()));
}

void netlink_request::add(std::uint16_t type, std::span<const std::byte> value)
{
    const rtattr header{.rta_len = static_cast<unsigned short>(sizeof(rtattr) + value.size()), .rta_type = type};
    append(std::as_bytes(std::span{&header, 1}));
    append(value);
}

std::span<const std::byte> netlink_request::bytes(std::uint32_t sequence)
{
    const nlmsghdr header{.nlmsg_len = static_cast<std::uint32_t>(bytes_.size()),
                          .nlmsg_type = type_,
                          .nlmsg_flags = static_cast<std::uint16_t>(flags_ | NLM_F_REQUEST),
                          .nlmsg_seq = sequence,
                          .nlmsg_pid = 0};
    std::memcpy(bytes_.data(), &header, sizeof header);
    return bytes_;
}

netlink_socket::netlink_socket(std::initializer_list<rtnetlink_groups> groups)
    : fd_{socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)}, buffer_(buffer_bytes)
{
    if (fd_ < 0)
        throw std::system_error{last_error(), "netlink socket"};
    // Best effort: a smaller buffer only makes lost notifications, and so full dumps, more frequent.
    (void)setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &socket_buffer_bytes, sizeof socket_buffer_bytes);
    bool ok = setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &answer_timeout, sizeof answer_timeout) == 0;
    // Without a bound port the kernel takes the socket for the sender of its own notifications, and leaves it out.
    sockaddr_nl self{};
    self.nl_family = AF_NETLINK;
    ok = ok && bind(fd_, reinterpret_cast<const sockaddr *>(&self), sizeof self) == 0;
    for (const int group : groups)
        ok = ok && setsockopt(fd_, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0;
    if (!ok) {
        const auto error = last_error();
        close(fd_);
        throw std::system_error{error, "netlink socket"};
    }
}

netlink_socket::~netlink_socket()
{
    close(fd_);
}

// One datagram of the kernel into buffer_; datagrams of other senders count as empty.
std::error_code netlink_socket::receive(int flags, std::size_t &length)
{
    sockaddr_nl from{};
    socklen_t from_bytes = sizeof from;
    ssize_t received = 0;
    do
        received =
            recvfrom(fd_, buffer_.data(), buffer_.size(), flags, reinterpret_cast<sockaddr *>(&from), &from_bytes);
    while (received < 0 && errno == EINTR);
    if (received < 0)
        return last_error();
    length = from.nl_pid == 0 ? static_cast<std::size_t>(received) : 0;
    return {};
}

std::error_code netlink_socket::receive_pending(const netlink_handler &handler)
{
    for (;;) {
        std::size_t length = 0;
        if (const auto error = receive(MSG_DONTWAIT, length))
            return error == std::errc::operation_would_block ? std::error_code{} : error;
        auto datagram = std::span<const std::byte>{buffer_}.first(length);
        nlmsghdr header{};
        for (netlink_message message; next_message(datagram, header, message);)
            handler(message);
    }
}

std::error_code netlink_socket::call(netlink_request &request, const netlink_handler &handler)
{
    const auto sequence = ++sequence_;
    const auto bytes = request.bytes(sequence);
    if (send(fd_, bytes.data(), bytes.size(), 0) < 0)
        return last_error();
    bool is_interrupted = false;
    for (;;) {
        std::size_t length = 0;
        if (const auto error = receive(0, length))
            return error;
        auto datagram = std::span<const std::byte>{buffer_}.first(length);
        nlmsghdr header{};
        for (netlink_message message; next_message(datagram, header, message);) {
            if (header.nlmsg_seq != sequence)
                continue;
            is_interrupted = is_interrupted || (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
            if (message.type == NLMSG_DONE || message.type == NLMSG_ERROR) {
                const auto result = result_of(message);
                return !result && is_interrupted ? std::make_error_code(std::errc::interrupted) : result;
            }
            handler(message);
        }
    }
}

} // namespace mrc::kernel
