// SPDX-License-Identifier: Apache-2.0
// Packets that no library would send.
#include <algorithm>
#include <array>
#include <cstring>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "attacks.h"

namespace mrc::hostile
{

using clock = std::chrono::steady_clock;

namespace
{

constexpr std::size_t most_packet = 150'000;  // beyond what the daemon reads, within what the socket takes
constexpr std::size_t most_descriptors = 253; // SCM_MAX_FD

// Of every sort that can be had: the session itself among them, which makes a cycle only the kernel can collect.
std::vector<kernel::unique_fd> any_descriptors(random_engine &random, const raw_session &session, std::size_t count)
{
    std::vector<kernel::unique_fd> all;
    while (all.size() < count) {
        switch (random() % 6) {
        case 0:
            all.emplace_back(::fcntl(session.fd(), F_DUPFD_CLOEXEC, 0));
            break;
        case 1:
            all.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
            break;
        case 2:
            all.emplace_back(::eventfd(0, EFD_CLOEXEC));
            break;
        case 3:
            all.emplace_back(::memfd_create("hostile", MFD_CLOEXEC));
            break;
        case 4:
            all.emplace_back(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
            break;
        default:
            all.emplace_back(::epoll_create1(EPOLL_CLOEXEC));
        }
        REQUIRE(all.back());
    }
    return all;
}

void send_with(const raw_session &session, const std::vector<std::byte> &packet,
               const std::vector<kernel::unique_fd> &fds)
{
    iovec part{.iov_base = const_cast<std::byte *>(packet.data()), .iov_len = packet.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
        for (std::size_t i = 0; i < fds.size(); ++i) {
            const int fd = fds[i].get();
            std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(fd));
        }
    }
    [[maybe_unused]] const ssize_t sent = ::sendmsg(session.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::vector<std::byte> random_bytes(random_engine &random, std::size_t size)
{
    std::vector<std::byte> bytes(size);
    for (std::byte &byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

// Right in its first words, so that it gets past them; small numbers are what exists.
std::vector<std::byte> nearly_right(random_engine &random)
{
    session::session_request request;
    const auto noise = random_bytes(random, sizeof(request.room));
    std::memcpy(request.room, noise.data(), noise.size());
    for (std::size_t at = 0; at < sizeof(request.room); at += sizeof(std::uint32_t))
        if (random() % 2 == 0) {
            const auto small = static_cast<std::uint32_t>(random() % 8);
            std::memcpy(request.room + at, &small, sizeof(small));
        }
    request.kind = static_cast<session::request_kind>(random() % 22);
    if (random() % 16 == 0)
        request.version = static_cast<std::uint32_t>(random() % 4);
    std::vector<std::byte> packet(sizeof(request));
    std::memcpy(packet.data(), &request, sizeof(request));
    return packet;
}

std::vector<std::byte> any_packet(random_engine &random)
{
    switch (random() % 8) {
    case 0:
        return random_bytes(random, random() % most_packet);
    case 1:
        return random_bytes(random, random() % 256);
    case 2: { // a control request of any length
        auto bytes = random_bytes(random, 8 + random() % 40'000);
        const std::array<std::uint32_t, 2> head{1, 0x100 + static_cast<std::uint32_t>(random() % 16)};
        std::memcpy(bytes.data(), head.data(), sizeof(head));
        return bytes;
    }
    default:
        return nearly_right(random);
    }
}

void read_what_is_there(const raw_session &session)
{
    std::array<std::byte, 1024> bytes;
    while (::recv(session.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0)
        continue;
}

} // namespace

void send_noise(const attack_terms &terms)
{
    random_engine random{terms.seed};
    for (const auto end = clock::now() + terms.time; clock::now() < end;) {
        const raw_session session{terms.where.attacked};
        if (random() % 4 != 0)
            (void)session.ask(session::request_kind::hello);
        for (auto left = random() % 40; left > 0; --left) {
            const bool many = random() % 16 == 0;
            const std::size_t fds = many ? random() % most_descriptors : random() % 8 < 6 ? 0 : random() % 6;
            send_with(session, any_packet(random), any_descriptors(random, session, fds));
            if (random() % 2 == 0)
                read_what_is_there(session);
        }
    }
}

// Requests whose replies fill the socket. The daemon may end such a session, and may not wait for it.
void never_read(const attack_terms &terms)
{
    for (const auto end = clock::now() + terms.time; clock::now() < end;) {
        const raw_session silent{terms.where.attacked};
        session::session_request request;
        bool ended = false;
        for (int n = 0; n < 20'000 && !ended; ++n) {
            request.kind = n == 0       ? session::request_kind::hello
                           : n % 2 == 0 ? session::request_kind::describe
                                        : session::request_kind::open_events;
            ended = !silent.send(request);
        }
        REQUIRE(ended);
        REQUIRE(raw_session{terms.where.attacked}.ask(session::request_kind::hello).done());
    }
}

} // namespace mrc::hostile
