// SPDX-License-Identifier: Apache-2.0
// mrc-bench-tcp: requests and answers of any length over one TCP connection, one at a time: what a message costs where
// TCP carries it. See tests/perf/README.md.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "kernel/unique_fd.h"
#include "tools/mrc-perf/percentiles.h"
#include "tools/usage.h"

namespace
{

using mrc::kernel::unique_fd;
using clock_type = std::chrono::steady_clock;

constexpr std::uint32_t longest = 1U << 30;
constexpr std::uint32_t most_seconds = 3600;

// What a client wants of the connection: its first bytes.
struct exchange {
    std::uint32_t request = 8; // bytes
    std::uint32_t answer = 8;
    std::uint32_t spin = 0; // 1: ask the kernel again until it has something, instead of sleeping in it
};

struct command_line {
    std::string mode;
    std::string address;
    std::string port = "18600";
    exchange wanted;
    std::uint32_t seconds = 3;
};

struct resolved {
    explicit resolved(const command_line &chosen)
    {
        addrinfo hints{};
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
        hints.ai_socktype = SOCK_STREAM;
        if (const int error = ::getaddrinfo(chosen.address.c_str(), chosen.port.c_str(), &hints, &first); error != 0)
            throw std::runtime_error{
                fmt::format("{}, port {}: {}", chosen.address, chosen.port, ::gai_strerror(error))};
    }
    resolved(const resolved &) = delete;
    resolved &operator=(const resolved &) = delete;
    ~resolved() { ::freeaddrinfo(first); }

    addrinfo *first = nullptr;
};

void must(bool done, const char *what)
{
    if (!done)
        throw std::system_error{errno, std::generic_category(), what};
}

void set(const unique_fd &of, int level, int option)
{
    const int on = 1;
    must(::setsockopt(of.get(), level, option, &on, sizeof(on)) == 0, "setsockopt");
}

// False: the far end has closed the connection.
bool receive(const unique_fd &from, std::span<std::byte> into, bool spin)
{
    while (!into.empty()) {
        const ssize_t got = ::recv(from.get(), into.data(), into.size(), spin ? MSG_DONTWAIT : 0);
        if (got == 0)
            return false;
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        must(got > 0, "recv");
        into = into.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

void send_all(const unique_fd &to, std::span<const std::byte> bytes)
{
    while (!bytes.empty()) {
        const ssize_t sent = ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        must(sent > 0, "send");
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
}

void answer_all(const unique_fd &client)
{
    set(client, IPPROTO_TCP, TCP_NODELAY);
    exchange wanted;
    if (!receive(client, std::as_writable_bytes(std::span{&wanted, 1}), false))
        return;
    std::vector<std::byte> request(std::min(wanted.request, longest));
    const std::vector<std::byte> answer(std::min(wanted.answer, longest));
    while (receive(client, request, wanted.spin != 0))
        send_all(client, answer);
}

void serve(const command_line &chosen)
{
    const resolved own{chosen};
    const unique_fd listening{::socket(own.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    must(listening.get() >= 0, "socket");
    set(listening, SOL_SOCKET, SO_REUSEADDR);
    must(::bind(listening.get(), own.first->ai_addr, own.first->ai_addrlen) == 0, "bind");
    must(::listen(listening.get(), 1) == 0, "listen");
    fmt::print("LISTENING\n");
    std::fflush(stdout);
    for (;;) {
        const unique_fd client{::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        must(client.get() >= 0, "accept");
        answer_all(client);
    }
}

// How long each exchange took.
std::vector<std::uint32_t> run(const command_line &chosen)
{
    const resolved far{chosen};
    const unique_fd server{::socket(far.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    must(server.get() >= 0, "socket");
    must(::connect(server.get(), far.first->ai_addr, far.first->ai_addrlen) == 0, "connect");
    set(server, IPPROTO_TCP, TCP_NODELAY);
    send_all(server, std::as_bytes(std::span{&chosen.wanted, 1}));
    const std::vector<std::byte> request(chosen.wanted.request, std::byte{0x5a});
    std::vector<std::byte> answer(chosen.wanted.answer);
    std::vector<std::uint32_t> took;
    took.reserve(1 << 22);
    const clock_type::time_point end = clock_type::now() + std::chrono::seconds{chosen.seconds};
    for (clock_type::time_point before = clock_type::now(); before < end;) {
        send_all(server, request);
        if (!receive(server, answer, chosen.wanted.spin != 0))
            throw std::runtime_error{"the far end has closed the connection"};
        const clock_type::time_point now = clock_type::now();
        took.push_back(static_cast<std::uint32_t>(
            std::min<std::int64_t>(std::chrono::nanoseconds{now - before}.count(), UINT32_MAX)));
        before = now;
    }
    return took;
}

void report(const command_line &chosen)
{
    const clock_type::time_point begun = clock_type::now();
    std::vector<std::uint32_t> took = run(chosen);
    const std::chrono::duration<double> seconds = clock_type::now() - begun;
    std::ranges::sort(took);
    const auto at = [&](double share) { return mrc::perf::percentile_us(took, share); };
    const boost::json::object found{{"exchanges", took.size()},
                                    {"seconds", seconds.count()},
                                    {"request_bytes", chosen.wanted.request},
                                    {"answer_bytes", chosen.wanted.answer},
                                    {"spins", chosen.wanted.spin != 0},
                                    {"round_trip_us", {{"p50", at(0.5)}, {"p99", at(0.99)}, {"p999", at(0.999)}}}};
    fmt::print("{}\n", boost::json::serialize(found));
}

void add_options(CLI::App &app, command_line &to)
{
    app.add_option("mode", to.mode,
                   "serve: the far end, for one connection after the other; exchange: the one that asks")
        ->required()
        ->check(CLI::IsMember({"serve", "exchange"}));
    app.add_option("address", to.address, "That the far end listens at")->required();
    app.add_option("--port", to.port, "Where it listens")->capture_default_str();
    app.add_option("--request", to.wanted.request, "Bytes")->check(CLI::Range(1U, longest))->capture_default_str();
    app.add_option("--answer", to.wanted.answer, "Bytes")->check(CLI::Range(1U, longest))->capture_default_str();
    app.add_flag("--spin", to.wanted.spin, "Both ends ask the kernel until it has something; without, they sleep");
    app.add_option("--seconds", to.seconds, "Of the run")->check(CLI::Range(1U, most_seconds))->capture_default_str();
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{"Requests and answers over one TCP connection, one at a time; reports one JSON object.",
                 "mrc-bench-tcp"};
    command_line chosen;
    add_options(app, chosen);
    try {
        app.parse(argc, argv);
        if (chosen.mode == "serve")
            serve(chosen);
        report(chosen);
        return EXIT_SUCCESS;
    } catch (const CLI::ParseError &error) {
        return mrc::tools::end_of(app, error, "mrc-bench-tcp");
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrc-bench-tcp: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
