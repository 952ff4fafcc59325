// SPDX-License-Identifier: Apache-2.0
#include "unit/kernel/memory_client.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "session/fd_passing.h"

namespace mrc::datapath
{

namespace
{

struct socket_pair {
    kernel::unique_fd test;
    kernel::unique_fd client; // without close-on-exec
};

socket_pair connected_pair()
{
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        throw std::runtime_error{"socketpair"};
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    return {kernel::unique_fd{ends[0]}, kernel::unique_fd{ends[1]}};
}

std::byte *anonymous(void *where, int flags)
{
    void *memory =
        ::mmap(where, memory_client::bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte *>(memory);
}

} // namespace

memory_client::memory_client()
{
    socket_pair direct = connected_pair();
    socket_pair of_fork = connected_pair();
    child_ = ::fork();
    if (child_ < 0)
        throw std::runtime_error{"fork"};
    if (child_ == 0) {
        direct.test.reset();
        of_fork.test.reset();
        std::byte *memory = anonymous(nullptr, 0);
        std::fill_n(memory, bytes, pattern);
        const int file = ::open("/proc/self/mem", O_RDWR | O_CLOEXEC);
        const reply introduction{.address = reinterpret_cast<std::uintptr_t>(memory)};
        if (session::send_packet(direct.client.get(), &introduction, sizeof(introduction), {&file, 1}))
            serve(direct.client.get(), of_fork.client.get(), memory);
        ::_exit(0);
    }
    reply introduction;
    session::receive_packet(direct.test.get(), &introduction, sizeof(introduction), {&memory_, 1});
    address_ = introduction.address;
    sockets_ = {std::move(direct.test), std::move(of_fork.test)};
}

memory_client::~memory_client()
{
    finish();
}

void memory_client::finish()
{
    for (kernel::unique_fd &socket : sockets_)
        socket.reset();
    if (child_ > 0)
        ::waitpid(child_, nullptr, 0);
    child_ = -1;
}

memory_client::reply memory_client::ask(const request &asked, who at)
{
    const int socket = sockets_[static_cast<std::size_t>(at)].get();
    reply answer;
    if (::send(socket, &asked, sizeof(asked), MSG_NOSIGNAL) != sizeof(asked) ||
        ::recv(socket, &answer, sizeof(answer), 0) != sizeof(answer))
        throw std::runtime_error{"the client does not answer"};
    return answer;
}

memory_client::sight memory_client::look(std::uint64_t offset, who at)
{
    return ask({.what = command::look, .offset = offset}, at).seen;
}

void memory_client::fork_one()
{
    ask({.what = command::fork});
}

void memory_client::unmap(std::uint64_t offset, std::uint64_t length)
{
    ask({.what = command::unmap, .offset = offset, .length = length});
}

bool memory_client::execute()
{
    return ask({.what = command::execute}).done;
}

void memory_client::serve(int socket, int fork_socket, std::byte *memory)
{
    request asked;
    while (::recv(socket, &asked, sizeof(asked), 0) == sizeof(asked)) {
        const reply answer = perform(asked, socket, fork_socket, memory);
        if (::send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
            break;
    }
}

memory_client::reply memory_client::perform(const request &asked, int socket, int fork_socket, std::byte *memory)
{
    reply answer{.done = true};
    switch (asked.what) {
    case command::look:
        std::memcpy(answer.seen.data(), memory + asked.offset, look_bytes);
        break;
    case command::fork:
        if (fork_socket < 0)
            return {}; // one fork is all there is a socket for
        if (::fork() == 0) {
            ::close(socket);
            serve(fork_socket, -1, memory);
            ::_exit(0);
        }
        ::close(fork_socket);
        break;
    case command::unmap:
        ::munmap(memory + asked.offset, asked.length);
        break;
    case command::execute: {
        const std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(memory));
        const std::string channel = std::to_string(socket);
        ::execl("/proc/self/exe", "memory_client", after_exec_option, address.c_str(), channel.c_str(), nullptr);
        answer.done = false;
    }
    }
    return answer;
}

int memory_client::after_exec(char **arguments)
{
    const auto where = static_cast<std::uintptr_t>(std::strtoull(arguments[0], nullptr, 10));
    const int socket = std::atoi(arguments[1]);
    void *const wanted = reinterpret_cast<void *>(where); // NOLINT(performance-no-int-to-ptr): an address from outside
    std::byte *memory = anonymous(wanted, MAP_FIXED_NOREPLACE);
    const reply answer{.done = memory != nullptr};
    if (::send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer) && answer.done)
        serve(socket, -1, memory);
    return 0;
}

} // namespace mrc::datapath
