// SPDX-License-Identifier: Apache-2.0
// What NCCL may ask of two ends, by each version of the interface: sizes, groups, limits, misuse, unknown peers.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl/rank.h"

namespace mrc::nccl_test
{

namespace
{

constexpr std::array<std::size_t, 8> sizes{
    0, 1, 7, 4095, 4096, 65537, std::size_t{512} << 10, (std::size_t{20} << 20) + 3};
constexpr std::size_t grouped = 8;
constexpr int reopened = 10;

struct two_ranks {
    const net &by;
    const rank_options &options;
    const mesh &links;
    int peer;

    [[nodiscard]] void *send(const buffer &from, std::size_t bytes, int tag = 0) const
    {
        void *request = nullptr;
        until([&] {
            request = by.send(links.to(peer), const_cast<buffer &>(from).at(0), bytes, tag, from.memory());
            return request != nullptr;
        });
        return request;
    }
};

template <typename Call>
std::optional<result> code_of(Call call)
{
    try {
        call();
        return std::nullopt;
    } catch (const net_failure &failure) {
        return failure.code;
    }
}

void check_properties(const net &by, int version)
{
    const net_properties found = by.properties();
    check(found.name.starts_with("mrc") && found.pointers == 1 && found.global == 1 && found.most_grouped == 8 &&
              found.speed_mbps > 0 && found.most_connections > 0,
          "properties");
    check(version < 12 || (found.rail == 0 && found.plane == 0), "rail and plane");
    check(code_of([&] { (void)by.properties(1); }) == result::invalid_argument, "there is no second device");
    if (version == 12)
        say(found.name + ": " + std::to_string(found.speed_mbps) + " Mbit/s, " +
            std::to_string(found.most_connections) + " connections");
}

void every_size(const two_ranks &pair)
{
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::size_t bytes = sizes.at(i);
        const std::size_t room = bytes + i % 3; // at times more than is sent
        buffer source{pair.by, pair.links.to(pair.peer), bytes + 1};
        buffer target{pair.by, pair.links.from(pair.peer), room + 1};
        source.fill(static_cast<std::uint64_t>(pair.options.rank) + i);
        const receive_order order = target.order(room);
        void *in = pair.by.receive(pair.links.from(pair.peer), {&order, 1});
        void *out = pair.send(source, bytes);
        int sent = -1;
        int got = -1;
        until([&] { return pair.by.test(out, &sent); });
        until([&] { return pair.by.test(in, &got); });
        pair.by.flush(pair.links.from(pair.peer), order);
        check(static_cast<std::size_t>(sent) == bytes && static_cast<std::size_t>(got) == bytes,
              "the size that was sent");
        check(target.holds(static_cast<std::uint64_t>(pair.peer) + i, bytes), "the bytes that were sent");
    }
}

// Sends come in another order than buffers, two have one tag, some are empty; and the next group waits meanwhile.
void groups(const two_ranks &pair)
{
    constexpr std::size_t room = 70000;
    constexpr std::array<int, grouped> tags{5, 9, 5, -1, 1 << 30, 0, 7, 3};
    constexpr std::array<std::size_t, grouped> order{6, 0, 4, 2, 7, 1, 5, 3};
    constexpr std::size_t times = 3;
    std::array<void *, times> requests{};
    std::vector<std::unique_ptr<buffer>> targets;
    for (std::size_t time = 0; time < times; ++time) {
        std::array<receive_order, grouped> orders;
        for (std::size_t i = 0; i < grouped; ++i) {
            targets.push_back(std::make_unique<buffer>(pair.by, pair.links.from(pair.peer), room));
            orders.at(i) = targets.back()->order(room, tags.at(i));
        }
        requests.at(time) = pair.by.receive(pair.links.from(pair.peer), orders);
        check(requests.at(time) != nullptr, "a grouped receive begins");
    }
    const auto bytes_of = [](std::size_t time, std::size_t i) { return i == 2 ? 0 : room - 1000 * i - time; };
    const auto what = [](int rank, std::size_t time, std::size_t i) {
        return static_cast<std::uint64_t>(rank) * 100 + time * grouped + i;
    };
    std::vector<std::unique_ptr<buffer>> sources;
    std::vector<void *> sends;
    for (std::size_t time = 0; time < times; ++time)
        for (const std::size_t i : order) {
            sources.push_back(std::make_unique<buffer>(pair.by, pair.links.to(pair.peer), room));
            sources.back()->fill(what(pair.options.rank, time, i));
            sends.push_back(pair.send(*sources.back(), bytes_of(time, i), tags.at(i)));
        }
    for (void *one : sends)
        until([&] { return pair.by.test(one); });
    for (std::size_t time = 0; time < times; ++time) {
        std::array<int, grouped> got{};
        until([&] { return pair.by.test(requests.at(time), got.data()); });
        for (std::size_t i = 0; i < grouped; ++i) {
            check(static_cast<std::size_t>(got.at(i)) == bytes_of(time, i), "a grouped receive's sizes");
            check(targets.at(time * grouped + i)->holds(what(pair.peer, time, i), bytes_of(time, i)),
                  "a grouped receive's bytes");
        }
    }
}

// As many as NCCL may have under way; one more is refused until there is room.
void many_at_once(const two_ranks &pair)
{
    constexpr std::size_t bytes = 1000;
    constexpr auto most = static_cast<std::size_t>(nccl_plugin::most_requests);
    buffer source{pair.by, pair.links.to(pair.peer), bytes};
    buffer target{pair.by, pair.links.from(pair.peer), bytes * most * grouped};
    source.fill(1);
    std::vector<void *> receives;
    receives.reserve(most);
    const auto orders_of = [&](std::size_t time) {
        std::array<receive_order, grouped> orders;
        for (std::size_t i = 0; i < grouped; ++i)
            orders.at(i) = {target.at((time * grouped + i) * bytes), bytes, static_cast<int>(i), target.memory()};
        return orders;
    };
    for (std::size_t time = 0; time < most; ++time)
        receives.push_back(pair.by.receive(pair.links.from(pair.peer), orders_of(time)));
    check(std::ranges::count(receives, nullptr) == 0, "32 grouped receives begin");
    check(pair.by.receive(pair.links.from(pair.peer), orders_of(0)) == nullptr, "and no more");
    std::vector<void *> sends;
    sends.reserve(most * grouped);
    for (std::size_t i = 0; i < most * grouped; ++i)
        sends.push_back(pair.send(source, bytes, static_cast<int>(i % grouped)));
    for (void *one : receives)
        until([&] { return pair.by.test(one); });
    for (void *one : sends)
        until([&] { return pair.by.test(one); });
    for (std::size_t i = 0; i < target.size(); ++i)
        check(*target.at(i) == std::byte{pattern(1, i % bytes)}, "every one of 256 sends");
}

void nothing_before_a_receive(const two_ranks &pair, const std::string &name)
{
    buffer source{pair.by, pair.links.to(pair.peer), 64};
    buffer target{pair.by, pair.links.from(pair.peer), 64};
    source.fill(3);
    check(pair.by.send(pair.links.to(pair.peer), source.at(0), 64, 0, source.memory()) == nullptr,
          "nothing can be sent before there is a receive");
    publish(pair.options, name + "-asked-" + std::to_string(pair.options.rank));
    wait_for(pair.options, name + "-asked-" + std::to_string(pair.peer));
    const receive_order order = target.order(64, 11);
    void *in = pair.by.receive(pair.links.from(pair.peer), {&order, 1});
    publish(pair.options, name + "-told-" + std::to_string(pair.options.rank));
    wait_for(pair.options, name + "-told-" + std::to_string(pair.peer));
    check(pair.by.send(pair.links.to(pair.peer), source.at(0), 64, 10, source.memory()) == nullptr,
          "nor with a tag that no buffer has");
    void *out = pair.send(source, 64, 11);
    until([&] { return pair.by.test(out); });
    until([&] { return pair.by.test(in); });
    check(target.holds(3, 64), "then it is");
}

void misuse(const two_ranks &pair)
{
    buffer source{pair.by, pair.links.to(pair.peer), 128};
    buffer target{pair.by, pair.links.from(pair.peer), 128};
    source.fill(4);
    std::array<receive_order, grouped + 1> too_many{};
    check(code_of([&] { (void)pair.by.receive(pair.links.from(pair.peer), too_many); }) == result::invalid_argument,
          "nine buffers are refused");
    check(code_of([&] { (void)pair.by.register_memory(pair.links.to(pair.peer), source.at(0), 64, 2); }) ==
              result::invalid_usage,
          "a GPU's memory is refused");
    const receive_order elsewhere{.data = &too_many, .bytes = 64, .tag = 0, .memory = target.memory()};
    check(code_of([&] { (void)pair.by.receive(pair.links.from(pair.peer), {&elsewhere, 1}); }) ==
              result::invalid_argument,
          "memory beside what is registered is refused");
    const receive_order order = target.order(100);
    void *in = pair.by.receive(pair.links.from(pair.peer), {&order, 1});
    std::optional<result> too_long;
    until([&] { // until the far end's receive is known
        void *request = nullptr;
        too_long =
            code_of([&] { request = pair.by.send(pair.links.to(pair.peer), source.at(0), 101, 0, source.memory()); });
        check(request == nullptr, "a send that is too long does not begin");
        return too_long.has_value();
    });
    check(too_long == result::invalid_usage, "a send that is longer than its receive is refused");
    void *out = pair.send(source, 100);
    until([&] { return pair.by.test(out); });
    until([&] { return pair.by.test(in); });
    check(target.holds(4, 100), "and nothing is lost by it");
}

// Another rank of this host: here it is this process itself.
void own_host(const net &by, void *listener, connect_handle &handle)
{
    constexpr std::size_t bytes = (std::size_t{3} << 20) + 5;
    void *out = nullptr;
    void *in = nullptr;
    until([&] {
        out = out != nullptr ? out : by.connect(handle);
        in = in != nullptr ? in : by.accept(listener);
        return out != nullptr && in != nullptr;
    });
    {
        buffer source{by, out, bytes};
        buffer target{by, in, bytes};
        source.fill(5);
        complete(by, {{.connection = out, .memory = &source, .bytes = bytes, .sends = true},
                      {.connection = in, .memory = &target, .bytes = bytes}});
        check(target.holds(5, bytes), "bytes between two ends on this host");
    }
    by.close_send(out);
    by.close_recv(in);
}

// Who does not show the token is turned away, and in nobody's way.
void unknown_peers(const net &by)
{
    connect_handle handle{};
    void *listener = by.listen(handle);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    constexpr std::size_t family_at = 7;
    constexpr std::size_t port_at = 8;
    constexpr std::size_t scope_at = 12;
    constexpr std::size_t address_at = 16;
    check(handle.at(family_at) == std::byte{6}, "a lab's hosts have IPv6");
    std::memcpy(&address.sin6_port, &handle.at(port_at), sizeof(address.sin6_port));
    std::uint32_t scope = 0;
    std::memcpy(&scope, &handle.at(scope_at), sizeof(scope));
    address.sin6_scope_id = ntohl(scope);
    std::memcpy(&address.sin6_addr, &handle.at(address_at), sizeof(address.sin6_addr));
    std::vector<int> guests;
    for (int i = 0; i < 40; ++i) {
        const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        check(fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0,
              "a stranger connects");
        const std::string noise(static_cast<std::size_t>(i) * 5, 'x');
        check(::send(fd, noise.data(), noise.size(), MSG_NOSIGNAL) >= 0, "and talks");
        guests.push_back(fd);
        check(by.accept(listener) == nullptr, "a stranger is no sender");
    }
    connect_handle garbage{};
    check(code_of([&] { (void)by.connect(garbage); }) == result::invalid_argument, "a handle of another plug-in");
    own_host(by, listener, handle);
    by.close_listen(listener);
    for (const int fd : guests)
        ::close(fd);
    connect_handle gone = handle;
    std::optional<result> refused;
    until([&] {
        refused = code_of([&] { (void)by.connect(gone); });
        return refused.has_value();
    });
    check(refused == result::remote_error, "a listener that is closed");
}

} // namespace

void test_messages(const rank_options &options)
{
    for (const int version : {12, 11, 8}) {
        const std::string name = "v" + std::to_string(version);
        const net by{version};
        check_properties(by, version);
        {
            const mesh links{by, options, name};
            const two_ranks pair{.by = by, .options = options, .links = links, .peer = 1 - options.rank};
            nothing_before_a_receive(pair, name);
            every_size(pair);
            groups(pair);
            many_at_once(pair);
            misuse(pair);
        }
        unknown_peers(by);
        for (int time = 0; time < reopened; ++time) {
            const mesh links{by, options, name + "-again-" + std::to_string(time)};
            all_to_all(by, links, options, 0, static_cast<std::uint64_t>(time));
        }
        say(name + " complete");
    }
    say("all closed");
    until([] { return std::fgetc(stdin) == EOF; });
}

} // namespace mrc::nccl_test
