// SPDX-License-Identifier: Apache-2.0
#include "session/fd_passing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace mrc::session
{

namespace
{

constexpr std::size_t most_sent_fds = 4;

} // namespace

bool send_packet(int socket, const void *data, std::size_t bytes, std::span<const int> fds)
{
    iovec part{.iov_base = const_cast<void *>(data), .iov_len = bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(most_sent_fds * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
        std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    ssize_t sent = 0;
    do
        sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes);
}

std::optional<received_packet> receive_packet(int socket, void *data, std::size_t bytes,
                                              std::span<kernel::unique_fd> fds)
{
    iovec part{.iov_base = data, .iov_len = bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(most_passed_fds * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ssize_t got = 0;
    do
        got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return std::nullopt;
    received_packet result{.bytes = static_cast<std::size_t>(got),
                           .bytes_cut = (message.msg_flags & MSG_TRUNC) != 0,
                           .fds_lost = (message.msg_flags & MSG_CTRUNC) != 0};
    for (cmsghdr *header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
            kernel::unique_fd owned{fd};
            if (result.fds < fds.size())
                fds[result.fds++] = std::move(owned);
        }
    }
    return result;
}

} // namespace mrc::session
