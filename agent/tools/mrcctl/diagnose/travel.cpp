// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <random>
#include <span>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include "kernel/unique_fd.h"
#include "tools/mrcctl/diagnose/round_trips.h"
#include "tools/mrcctl/diagnose/trip_packet.h"
#include "tools/mrcctl/error.h"

namespace mrc::ctl::diagnose
{

namespace
{

using clock = std::chrono::steady_clock;

constexpr double packets_per_second = 16000; // of all routes together: 1 to 2 % of what a core carries
constexpr std::uint32_t least_packets_of_route = 16;
constexpr std::uint32_t every_so_many_is_full = 8;
constexpr std::chrono::milliseconds longest_way{200}; // after the last packet that came back none is expected
constexpr int receive_bytes = 16 << 20;
constexpr std::uint32_t headers_beyond_payload = 132; // of a full data packet, from the outer IP header on

[[noreturn]] void fail(const char *what)
{
    const int error = errno;
    throw ctl_error{fmt::format("cannot {}: {}{}", what, std::strerror(error),
                                error == EPERM || error == EACCES ? " (mrcctl needs root)" : "")};
}

// IPv6 packets without a next header, and ICMPv6 echo replies.
void filter(int socket)
{
    std::array<sock_filter, 7> code{{
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, offsetof(ip6_hdr, ip6_nxt)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_NONE, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, sizeof(ip6_hdr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ICMP6_ECHO_REPLY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xFFFF),
        BPF_STMT(BPF_RET | BPF_K, 0),
    }};
    const sock_fprog program{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
    if (::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0)
        fail("filter packets");
}

struct trip_sockets {
    kernel::unique_fd out;
    kernel::unique_fd in;
};

trip_sockets open_sockets()
{
    trip_sockets sockets{
        .out = kernel::unique_fd{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)},
        .in = kernel::unique_fd{::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)},
    };
    if (!sockets.out || !sockets.in)
        fail("open a packet socket");
    filter(sockets.in.get());
    static constexpr int bytes = receive_bytes;
    ::setsockopt(sockets.in.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    sockaddr_ll all{};
    all.sll_family = AF_PACKET;
    all.sll_protocol = htons(ETH_P_IPV6);
    if (::bind(sockets.in.get(), reinterpret_cast<const sockaddr *>(&all), sizeof(all)) != 0)
        fail("receive packets");
    return sockets;
}

// A thread enters the namespace and ends; its sockets stay there.
trip_sockets open_sockets_beside(std::uint32_t pid)
{
    const std::string path = fmt::format("/proc/{}/ns/net", pid);
    const kernel::unique_fd space{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!space)
        fail(fmt::format("open '{}'", path).c_str());
    trip_sockets sockets;
    std::exception_ptr failure;
    std::thread{[&] {
        try {
            if (::setns(space.get(), CLONE_NEWNET) != 0)
                fail("enter the network namespace of mrcd");
            sockets = open_sockets();
        } catch (const ctl_error &) {
            failure = std::current_exception();
        }
    }}.join();
    if (failure)
        std::rethrow_exception(failure);
    return sockets;
}

class traveller
{
public:
    traveller(const host_maps &maps, const std::vector<trip_route> &routes, std::uint32_t packets)
        : maps_{maps}, routes_{routes}, nonce_{std::random_device{}()}, packets_{packets},
          back_(routes.size(), std::vector<bool>(packets)), results_(routes.size()),
          sockets_{open_sockets_beside(maps.host().pid)}
    {
        for (const trip_route &one : routes_)
            frames_.push_back(frame_for(one));
    }

    trip_results go(double seconds)
    {
        const auto begin = clock::now();
        for (std::uint32_t number = 0; number < packets_; ++number) {
            for (std::uint32_t index = 0; index < routes_.size(); ++index)
                send(index, number);
            take_all();
            std::this_thread::sleep_until(begin +
                                          std::chrono::duration_cast<clock::duration>(
                                              std::chrono::duration<double>{seconds * (number + 1) / packets_}));
        }
        take_late();
        trip_results results;
        for (std::size_t index = 0; index < routes_.size(); ++index)
            results[routes_[index].key] = results_[index];
        return results;
    }

private:
    [[nodiscard]] trip_frame frame_for(const trip_route &one) const
    {
        const mrc_port_row port = maps_.ports()[one.key.plane];
        trip_frame frame{.source = port.address, .carrier = one.carrier, .target = one.target};
        std::ranges::copy(port.mac, frame.source_mac);
        std::ranges::copy(maps_.next_hops()[one.key.plane].mac, frame.gateway_mac);
        frame.is_echo = one.key.kind == trip_kind::echo || one.key.kind == trip_kind::detour;
        return frame;
    }

    // An echo's answer may be cut to pieces on its way back, so they stay short.
    [[nodiscard]] bool is_full(std::uint32_t index, std::uint32_t number) const
    {
        return !frames_[index].is_echo && number % every_so_many_is_full == every_so_many_is_full - 1;
    }

    tally &tally_of(std::uint32_t index, std::uint32_t number)
    {
        return is_full(index, number) ? results_[index].full : results_[index].small;
    }

    void send(std::uint32_t index, std::uint32_t number)
    {
        trip_frame &frame = frames_[index];
        frame.mark = {.nonce = nonce_, .route = index, .number = number};
        frame.outer_bytes = is_full(index, number) ? maps_.host().payload_bytes + headers_beyond_payload : 0;
        const std::vector<std::uint8_t> bytes = bytes_of(frame);
        sockaddr_ll to{};
        to.sll_family = AF_PACKET;
        to.sll_protocol = htons(ETH_P_IPV6);
        to.sll_ifindex = static_cast<int>(maps_.ports()[routes_[index].key.plane].ifindex);
        to.sll_halen = sizeof(frame.gateway_mac);
        std::memcpy(to.sll_addr, frame.gateway_mac, sizeof(frame.gateway_mac));
        if (::sendto(sockets_.out.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr *>(&to),
                     sizeof(to)) >= 0)
            ++tally_of(index, number).sent;
    }

    // Whether there was any.
    bool take_all()
    {
        std::array<std::uint8_t, 256> packet{};
        bool any = false;
        for (;;) {
            const ssize_t got = ::recv(sockets_.in.get(), packet.data(), packet.size(), 0);
            if (got < 0)
                return any;
            const auto mark = mark_in(std::span{packet}.first(static_cast<std::size_t>(got)));
            if (!mark || mark->nonce != nonce_ || mark->route >= routes_.size() || mark->number >= packets_ ||
                back_[mark->route][mark->number])
                continue;
            back_[mark->route][mark->number] = true;
            ++tally_of(mark->route, mark->number).back;
            any = true;
        }
    }

    [[nodiscard]] bool is_whole() const
    {
        return std::ranges::all_of(results_,
                                   [](const trip_result &one) { return one.small.lost() + one.full.lost() == 0; });
    }

    // Other programs' echo replies, which arrive here, too, are no reason to wait on.
    void take_late()
    {
        auto end = clock::now() + longest_way;
        while (!is_whole() && clock::now() < end) {
            pollfd readable{.fd = sockets_.in.get(), .events = POLLIN, .revents = 0};
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
            ::poll(&readable, 1, static_cast<int>(left.count()));
            if (take_all())
                end = clock::now() + longest_way;
        }
    }

    const host_maps &maps_;
    const std::vector<trip_route> &routes_;
    std::uint32_t nonce_;
    std::uint32_t packets_;
    std::vector<std::vector<bool>> back_; // by route and number
    std::vector<trip_result> results_;
    std::vector<trip_frame> frames_;
    trip_sockets sockets_;
};

} // namespace

trip_results travel(const host_maps &maps, const std::vector<trip_route> &routes, const travel_pace &pace)
{
    if (routes.empty())
        return {};
    const double fit = packets_per_second * pace.seconds / static_cast<double>(routes.size());
    const auto packets = static_cast<std::uint32_t>(
        std::clamp(fit, double{least_packets_of_route},
                   std::max(double{least_packets_of_route}, pace.most_of_route * pace.seconds)));
    return traveller{maps, routes, packets}.go(pace.seconds);
}

} // namespace mrc::ctl::diagnose
