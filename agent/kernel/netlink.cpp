// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>

#include <sys/socket.h>
#include <sys/time.h>

namespace mrc::kernel
{

namespace
{

constexpr std::size_t buffer_bytes = 1 << 16; // a link with many virtual functions needs more than a page
constexpr int socket_buffer_bytes = 1 << 20;  // some thousand notifications between two reads
constexpr timeval answer_timeout{.tv_sec = 2, .tv_usec = 0};

std::error_code last_error()
{
    return {errno, std::generic_category()};
}

// mnl_cb_run() takes what is left of a dump that was given up for an error of the next request.
template <class Handler>
void for_each_message(std::span<const std::byte> datagram, const Handler &handler)
{
    auto left = static_cast<int>(datagram.size());
    const auto *message = reinterpret_cast<const nlmsghdr *>(datagram.data());
    for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left))
        handler(*message);
}

// NLMSG_DONE and NLMSG_ERROR both start with a negative errno, or 0.
std::error_code result_of(const nlmsghdr &message)
{
    const auto *error = header_of<int>(message);
    return error != nullptr ? std::error_code{-*error, std::generic_category()}
                            : std::make_error_code(std::errc::bad_message);
}

} // namespace

void for_each_attribute(const nlmsghdr &message, std::size_t header_bytes,
                        const std::function<void(std::uint16_t type, std::span<const std::byte> value)> &handler)
{
    const auto *end = static_cast<const char *>(mnl_nlmsg_get_payload_tail(&message));
    const auto *attribute =
        static_cast<const nlattr *>(mnl_nlmsg_get_payload_offset(&message, static_cast<unsigned>(header_bytes)));
    for (; mnl_attr_ok(attribute, static_cast<int>(end - reinterpret_cast<const char *>(attribute)));
         attribute = mnl_attr_next(attribute))
        handler(mnl_attr_get_type(attribute),
                {static_cast<const std::byte *>(mnl_attr_get_payload(attribute)), mnl_attr_get_payload_len(attribute)});
}

netlink_request::netlink_request(std::uint16_t type, unsigned flags, std::span<const std::byte> header)
    : message_{mnl_nlmsg_put_header(room_.data())}
{
    message_->nlmsg_type = type;
    message_->nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
    add_header(header);
}

void netlink_request::add_header(std::span<const std::byte> header)
{
    if (message_->nlmsg_len + MNL_ALIGN(header.size()) > room_bytes)
        throw std::length_error{"netlink request"};
    std::memcpy(mnl_nlmsg_put_extra_header(message_, header.size()), header.data(), header.size());
}

void netlink_request::add(std::uint16_t type, std::span<const std::byte> value)
{
    if (!mnl_attr_put_check(message_, room_bytes, type, value.size(), value.data()))
        throw std::length_error{"netlink request"};
}

nlattr *netlink_request::begin_nest(std::uint16_t type, std::span<const std::byte> header)
{
    auto *nest = mnl_attr_nest_start_check(message_, room_bytes, type);
    if (nest == nullptr)
        throw std::length_error{"netlink request"};
    if (!header.empty())
        add_header(header);
    return nest;
}

const nlmsghdr &netlink_request::message(std::uint32_t sequence)
{
    message_->nlmsg_seq = sequence;
    return *message_;
}

netlink_socket::netlink_socket(std::initializer_list<rtnetlink_groups> groups)
    : socket_{mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC)}, buffer_(buffer_bytes)
{
    if (!socket_)
        throw std::system_error{last_error(), "netlink socket"};
    // Best effort: a smaller buffer only makes lost notifications, and so full dumps, more frequent.
    (void)setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &socket_buffer_bytes, sizeof socket_buffer_bytes);
    bool ok = setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &answer_timeout, sizeof answer_timeout) == 0;
    // Without a bound port the kernel takes the socket for the sender of its own notifications, and leaves it out.
    ok = ok && mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) == 0;
    for (int group : groups)
        ok = ok && mnl_socket_setsockopt(socket_.get(), NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0;
    if (!ok)
        throw std::system_error{last_error(), "netlink socket"};
}

// One datagram of the kernel into buffer_; datagrams of other senders, which mnl_socket_recvfrom() takes for the
// kernel's, count as empty.
std::error_code netlink_socket::receive(int flags, std::span<const std::byte> &datagram)
{
    sockaddr_nl from{};
    socklen_t from_bytes = sizeof from;
    ssize_t received = 0;
    do
        received =
            recvfrom(fd(), buffer_.data(), buffer_.size(), flags, reinterpret_cast<sockaddr *>(&from), &from_bytes);
    while (received < 0 && errno == EINTR);
    if (received < 0)
        return last_error();
    datagram = std::span{buffer_}.first(from.nl_pid == 0 ? static_cast<std::size_t>(received) : 0);
    return {};
}

std::error_code netlink_socket::receive_pending(const netlink_handler &handler)
{
    for (std::span<const std::byte> datagram;;) {
        if (const auto error = receive(MSG_DONTWAIT, datagram))
            return error == std::errc::operation_would_block ? std::error_code{} : error;
        for_each_message(datagram, handler);
    }
}

std::error_code netlink_socket::call(netlink_request &request, const netlink_handler &handler)
{
    const nlmsghdr &sent = request.message(++sequence_);
    if (mnl_socket_sendto(socket_.get(), &sent, sent.nlmsg_len) < 0)
        return last_error();
    bool is_interrupted = false;
    std::optional<std::error_code> result;
    for (std::span<const std::byte> datagram; !result;) {
        if (const auto error = receive(0, datagram))
            return error;
        for_each_message(datagram, [&](const nlmsghdr &message) {
            if (result || message.nlmsg_seq != sequence_)
                return;
            is_interrupted = is_interrupted || (message.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
            if (message.nlmsg_type == NLMSG_DONE || message.nlmsg_type == NLMSG_ERROR)
                result = result_of(message);
            else
                handler(message);
        });
    }
    return !*result && is_interrupted ? std::make_error_code(std::errc::interrupted) : *result;
}

} // namespace mrc::kernel
