// SPDX-License-Identifier: Apache-2.0
#include "fi/stranger.h"

#include <array>
#include <cstdlib>

#include <poll.h>

#include "fi_provider/connect_message.h"
#include "fi_provider/info.h"

namespace mrc::fi_test
{

namespace
{

constexpr messaging::ring_shape shape{.slots = 64, .slot_bytes = fi_provider::inject_bytes + 128};

std::string chosen(std::string instance)
{
    ::setenv("MRC_INSTANCE", instance.c_str(), 1);
    return instance;
}

// Repeats a step of a socket that does not block.
template <typename Step>
void finish(const messaging::exchange_socket &socket, int events, Step step)
{
    auto reached = step();
    while (reached == messaging::exchange_step::waits) {
        pollfd ready{.fd = socket.fd(), .events = static_cast<short>(events), .revents = 0};
        check(::poll(&ready, 1, 20000) > 0, "the other end goes on");
        reached = step();
    }
    check(reached == messaging::exchange_step::done, "connecting goes on");
}

} // namespace

stranger::stranger(const std::string &instance) : endpoint_{(chosen(instance), shape)} {}

stranger::~stranger()
{
    auto held = endpoint_.lock();
    if (connection_ != nullptr)
        endpoint_.cut({&connection_, 1}, held); // nobody says farewell to it
}

void stranger::connect(const sockaddr_in &to)
{
    connection_ = endpoint_.open(*this);
    const auto address = messaging::socket_address::from(reinterpret_cast<const sockaddr *>(&to));
    check(address && socket_.connect(*address), "a stranger connects");
    finish(socket_, POLLOUT, [&] { return socket_.finish_connect(); });
    socket_.queue(fi_provider::connect_message{
        .kind = fi_provider::connect_kind::request,
        .address = connection_->address(),
        .data = {}}.encode());
    finish(socket_, POLLOUT, [&] { return socket_.send(); });
}

void stranger::answered()
{
    finish(socket_, POLLIN, [&] { return socket_.receive(fi_provider::connect_message::encoded_bytes); });
    const auto said = fi_provider::connect_message::decode(socket_.received());
    check(said && said->address, "it is accepted");
    const auto held = endpoint_.lock();
    check(endpoint_.connect(*connection_, *said->address), "and connected");
}

void stranger::say(const fi_provider::transfer_head &head, std::span<const std::byte> body)
{
    const auto held = endpoint_.lock();
    connection_->ring().send(head.encode(), body);
}

void stranger::say_too_little()
{
    const std::array<std::byte, 10> part{};
    const auto held = endpoint_.lock();
    connection_->ring().send(part, {});
}

fi_provider::transfer_head stranger::heard()
{
    std::unique_lock held{mutex_};
    check(came_.wait_for(held, std::chrono::seconds{20}, [this] { return heard_.has_value(); }), "it says something");
    return *heard_;
}

void stranger::on_message(std::span<const std::byte> message)
{
    const std::lock_guard held{mutex_};
    if (!heard_)
        heard_ = fi_provider::transfer_head::decode(message);
    came_.notify_all();
}

} // namespace mrc::fi_test
