// SPDX-License-Identifier: Apache-2.0
// A process of its own whose memory a test registers: it hands over its /proc/self/mem as a client does, and then does
// to its memory what it is told.
#pragma once

#include <array>
#include <cstdint>

#include <sys/types.h>

#include "kernel/unique_fd.h"

namespace mrc::datapath
{

class memory_client
{
public:
    static constexpr std::size_t bytes = 131072; // private anonymous memory, filled with `pattern`
    static constexpr std::byte pattern{0x5A};
    static constexpr std::size_t look_bytes = 64;
    using sight = std::array<std::byte, look_bytes>;

    // Who is asked: the client itself, or what it forked.
    enum class who : std::uint8_t { client, its_fork };

    memory_client();
    memory_client(const memory_client &) = delete;
    memory_client &operator=(const memory_client &) = delete;
    ~memory_client(); // the processes see their sockets close, and end

    [[nodiscard]] std::uint64_t address() const { return address_; }
    [[nodiscard]] kernel::unique_fd take_memory() { return std::move(memory_); } // as it came over the socket

    [[nodiscard]] sight look(std::uint64_t offset, who at = who::client);
    void fork_one();
    void unmap(std::uint64_t offset, std::uint64_t length);
    // Replaces the program by one that maps zeroes at the same address. True when it did.
    [[nodiscard]] bool execute();
    void finish(); // ends the client and waits for that

    // What the program does that execute() starts; main() calls it for the arguments that execute() passes.
    static int after_exec(char **arguments);
    static constexpr const char *after_exec_option = "--after-exec";

private:
    enum class command : std::uint8_t { look, fork, unmap, execute };
    struct request {
        command what{};
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
    };
    struct reply {
        sight seen{};
        std::uint64_t address = 0;
        bool done = false;
    };

    reply ask(const request &asked, who at = who::client);
    static void serve(int socket, int fork_socket, std::byte *memory);
    static reply perform(const request &asked, int socket, int fork_socket, std::byte *memory);

    std::array<kernel::unique_fd, 2> sockets_; // by `who`
    kernel::unique_fd memory_;
    std::uint64_t address_ = 0;
    pid_t child_ = -1;
};

} // namespace mrc::datapath
