// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/client_admission.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

using steady = std::chrono::steady_clock;

constexpr std::size_t most_refused = 64; // that are remembered until they have closed

kernel::unique_fd make_event(int flags)
{
    kernel::unique_fd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | flags)};
    if (!event)
        throw perf_error{fmt::format("cannot make an event descriptor: {}", std::strerror(errno))};
    return event;
}

bool has_closed(const channel &client)
{
    pollfd state{.fd = client.fd(), .events = POLLRDHUP, .revents = 0};
    return ::poll(&state, 1, 0) == 1;
}

// Throws away what has come; true once nothing can come any more.
bool drain(int fd)
{
    std::array<char, 16384> unread;
    ssize_t got = 0;
    do
        got = ::recv(fd, unread.data(), unread.size(), MSG_DONTWAIT);
    while (got > 0);
    return got == 0 || errno != EAGAIN;
}

} // namespace

client_admission::client_admission(listener socket)
    : socket_{std::move(socket)}, arrived_{make_event(EFD_SEMAPHORE)}, stop_{make_event(0)}, thread_{[this] { run(); }}
{
}

client_admission::~client_admission()
{
    ::eventfd_write(stop_.get(), 1);
}

channel *client_admission::next()
{
    const std::scoped_lock held{lock_};
    if (waiting_.empty())
        return nullptr;
    eventfd_t one = 0;
    ::eventfd_read(arrived_.get(), &one);
    served_ = std::move(waiting_.front());
    waiting_.pop_front();
    return &*served_;
}

void client_admission::release()
{
    const std::scoped_lock held{lock_};
    served_.reset();
}

void client_admission::run()
{
    while (true) {
        std::vector<pollfd> fds{{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                                {.fd = socket_.fd(), .events = POLLIN, .revents = 0}};
        for (const refused &one : refused_)
            fds.push_back({.fd = one.client.fd(), .events = POLLIN, .revents = 0});
        const int limit_ms = refused_.empty() ? -1 : static_cast<int>(std::chrono::milliseconds{answer_limit}.count());
        ::poll(fds.data(), fds.size(), limit_ms);
        if (fds[0].revents != 0)
            return;
        while (auto client = socket_.accept())
            admit(std::move(*client));
        close_refused();
    }
}

void client_admission::admit(channel client)
{
    std::unique_lock held{lock_};
    std::string served;
    if (served_ && !has_closed(*served_))
        served = served_->peer();
    for (const channel &earlier : waiting_)
        if (served.empty() && !has_closed(earlier))
            served = earlier.peer();
    if (served.empty()) {
        waiting_.push_back(std::move(client));
        ::eventfd_write(arrived_.get(), 1);
        return;
    }
    held.unlock();
    refuse(std::move(client), served);
}

// Its greeting is still to come. A connection closed with bytes unread is reset, which can destroy the answer: ours is
// kept until the client has closed its own.
void client_admission::refuse(channel client, const std::string &served)
{
    const std::string why = fmt::format("the server is busy with the test of {}; try again when it is over", served);
    if (!client.try_send(message_kind::error, {{"text", why}}))
        return;
    ::shutdown(client.fd(), SHUT_WR);
    if (refused_.size() == most_refused)
        refused_.erase(refused_.begin());
    refused_.push_back({std::move(client), steady::now() + answer_limit});
}

void client_admission::close_refused()
{
    std::erase_if(refused_,
                  [](const refused &one) { return drain(one.client.fd()) || steady::now() >= one.give_up_at; });
}

} // namespace mrc::perf
