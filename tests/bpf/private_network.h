// SPDX-License-Identifier: Apache-2.0
//
// An unnamed network namespace for one test: devices, programs on them, captures. It ends with the object (or with the
// process, if that dies), so nothing is left to clean up.
#ifndef MRC_TESTS_BPF_PRIVATE_NETWORK_H
#define MRC_TESTS_BPF_PRIVATE_NETWORK_H

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "packet_builder.h"

namespace mrc::test
{

class private_network
{
public:
    private_network() : before_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
    {
        if (before_ < 0 || unshare(CLONE_NEWNET) != 0)
            throw std::system_error(errno, std::generic_category(), "new network namespace");
    }
    private_network(const private_network &) = delete;
    private_network &operator=(const private_network &) = delete;
    ~private_network()
    {
        for (const int fd : open_)
            close(fd);
        if (setns(before_, CLONE_NEWNET) != 0)
            std::abort(); // later tests would run in the wrong namespace
        close(before_);
    }

    // `ip` commands, one a line, for instance "link add a type veth peer name b". One process does all: in an emulated
    // machine the start of each takes longer than what it does.
    static void ip(const std::string &commands)
    {
        FILE *batch = popen("ip -batch -", "w"); // NOLINT(cert-env33-c): the tests' own words
        if (batch == nullptr || std::fputs((commands + "\n").c_str(), batch) == EOF || pclose(batch) != 0)
            throw std::runtime_error("ip " + commands);
    }

    // Two connected devices, both up, without the kernel's own IPv6 chatter.
    static void veth(const std::string &name, const std::string &peer, int mtu)
    {
        const std::string bytes = std::to_string(mtu);
        std::string commands = "link add " + name + " mtu " + bytes + " type veth peer name " + peer + " mtu " + bytes;
        for (const std::string &device : {name, peer})
            commands += "\nlink set " + device + " addrgenmode none\nlink set " + device + " up";
        ip(commands);
    }

    static std::uint32_t ifindex(const std::string &name) { return if_nametoindex(name.c_str()); }

    // Native XDP; ends with the namespace.
    void attach_xdp(int program_fd, const std::string &device)
    {
        LIBBPF_OPTS(bpf_link_create_opts, options);
        options.flags = XDP_FLAGS_DRV_MODE;
        keep(bpf_link_create(program_fd, static_cast<int>(ifindex(device)), BPF_XDP, &options), "attach to " + device);
    }

    // A veth takes redirected frames only when its peer runs a native XDP program: one that does the same to all.
    void attach_action(xdp_action action, const std::string &device, bool multi_buffer = false)
    {
        const bpf_insn program[] = {
            {.code = BPF_ALU64 | BPF_MOV | BPF_K,
             .dst_reg = 0,
             .src_reg = 0,
             .off = 0,
             .imm = static_cast<int>(action)},
            {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
        };
        LIBBPF_OPTS(bpf_prog_load_opts, options);
        options.prog_flags = multi_buffer ? BPF_F_XDP_HAS_FRAGS : 0;
        attach_xdp(keep(bpf_prog_load(BPF_PROG_TYPE_XDP, "action", "GPL", program, std::size(program), &options),
                        "constant XDP program"),
                   device);
    }

private:
    int keep(int fd, const std::string &what)
    {
        if (fd < 0)
            throw std::system_error(-fd, std::generic_category(), what);
        open_.push_back(fd);
        return fd;
    }

    int before_;
    std::vector<int> open_;
};

// Every frame that arrives on a device, in order, but what the kernel tells IPv6's multicast groups of itself (MLD),
// which comes when a slow machine gets round to it.
class capture
{
public:
    explicit capture(const std::string &device) : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)))
    {
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(ETH_P_ALL);
        address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
        const int bytes = 64 << 20;
        if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 ||
            setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0)
            throw std::system_error(errno, std::generic_category(), "capture on " + device);
    }
    capture(const capture &) = delete;
    capture &operator=(const capture &) = delete;
    ~capture() { close(fd_); }

    // The next frame, or an empty one when none comes within the deadline.
    [[nodiscard]] packet_bytes next(std::chrono::milliseconds deadline = std::chrono::seconds(2)) const
    {
        packet_bytes bytes;
        do {
            pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
            if (poll(&ready, 1, static_cast<int>(deadline.count())) != 1)
                return {};
            bytes.resize(65536);
            const ssize_t length = recv(fd_, bytes.data(), bytes.size(), 0);
            bytes.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
        } while (is_for_multicast_group(bytes));
        return bytes;
    }

    [[nodiscard]] bool empty() const { return next(std::chrono::milliseconds(0)).empty(); }

private:
    static bool is_for_multicast_group(const packet_bytes &bytes)
    {
        constexpr std::uint8_t ipv6_group = 0x33; // RFC 2464 §7
        return bytes.size() > 1 && bytes[0] == ipv6_group && bytes[1] == ipv6_group;
    }

    int fd_;
};

} // namespace mrc::test

#endif
