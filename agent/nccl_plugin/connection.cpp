// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/connection.h"

#include <algorithm>

#include "messaging/failure.h"
#include "nccl_plugin/log.h"

namespace mrc::nccl_plugin
{

namespace
{

constexpr std::chrono::milliseconds look_interval{50};
// What the far end had sent before it went is here already, and waits for this process's threads at most.
constexpr std::chrono::milliseconds grace{500};

} // namespace

bool memory_handle::holds(const void *data, std::size_t bytes) const
{
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    return bytes == 0 || (range && range->begin <= first && first <= range->end && bytes <= range->end - first);
}

connection::connection(std::shared_ptr<session> at, const char *direction)
    : session_{std::move(at)}, direction_{direction}, peer_{"a far end"}
{
    fabric_ = session_->endpoint.open(*this); // may call on_failure()
    address_ = fabric_->address();
}

bool connection::connect(const messaging::peer_address &peer)
{
    const auto held = endpoint().lock();
    peer_ = peer.text();
    return endpoint().connect(*fabric_, peer);
}

void connection::watch(messaging::exchange_socket socket)
{
    const auto held = endpoint().lock(); // on_failure() ends it
    socket_ = std::move(socket);
    socket_.established();
}

void connection::close()
{
    if (fabric_ == nullptr)
        return;
    auto held = endpoint().lock();
    if (under_way_ > 0)
        endpoint().cut({&fabric_, 1}, held);
    else
        endpoint().close(fabric_);
    fabric_ = nullptr;
}

result connection::health()
{
    if (!failed_.load(std::memory_order_acquire))
        look_for_end();
    if (!failed_.load(std::memory_order_acquire))
        return result::success;
    if (!std::exchange(told_, true))
        warn(session_->endpoint.text() + ", " + direction_ + " " + peer_ + ": " + why_);
    return code_;
}

void connection::look_for_end()
{
    const clock::time_point now = clock::now();
    if (now < next_look_)
        return;
    next_look_ = now + look_interval;
    const bool closed = closed_.load(std::memory_order_acquire);
    if (!left_at_ && (closed || socket_.ended()))
        left_at_ = now;
    if (left_at_ && now - *left_at_ >= grace)
        give_up(closed ? "it has closed the connection" : "its process has ended, or failed", false);
}

void connection::give_up(const std::string &why, bool of_this_program)
{
    const auto held = endpoint().lock();
    if (failed_)
        return;
    if (of_this_program)
        code_ = result::invalid_usage;
    ring().fail(why);
}

void connection::on_failure(const std::string &why)
{
    why_ = why;
    if (why == messaging::daemon_gone) {
        code_ = result::system_error;
        session_->lost = true;
    }
    socket_.end();
    failed_.store(true, std::memory_order_release);
}

bool connection::waits() const
{
    return under_way_ > 0 || starving_;
}

result connection::test(transfer_request &request, bool &done, int *bytes)
{
    const auto complete = [&] { return request.missing.load(std::memory_order_acquire) == 0; };
    if (!complete())
        session_->endpoint.poll();
    done = complete();
    if (!done)
        return health();
    if (bytes != nullptr)
        std::copy_n(request.bytes.begin(), request.count, bytes);
    request.in_use = false;
    --under_way_;
    return result::success;
}

transfer_request *connection::free_request()
{
    const auto all = requests();
    const auto found = std::ranges::find(all, false, &transfer_request::in_use);
    if (found == all.end())
        return nullptr;
    found->owner = this;
    found->in_use = true;
    found->arrived = 0;
    found->memory = {};
    ++found->generation;
    ++under_way_;
    starving_ = false;
    return &*found;
}

void connection::log_refusal(const std::string &why) const
{
    warn(session_->endpoint.text() + ", " + direction_ + " " + peer_ + ": " + why);
}

bool connection::of_this_session(const memory_handle *memory) const
{
    return memory->at == session_;
}

std::unique_ptr<memory_handle> connection::register_memory(const void *data, std::size_t bytes)
{
    auto made = std::make_unique<memory_handle>();
    made->at = session_;
    if (bytes == 0)
        return made;
    const auto held = endpoint().lock();
    // Memory that the program may only read can be sent.
    for (const auto use : {messaging::region_use::target, messaging::region_use::source})
        if (!made->range)
            made->range = endpoint().registrations().find(data, bytes, use);
    if (!made->range)
        return nullptr;
    return made;
}

void connection::release_memory(std::unique_ptr<memory_handle> memory)
{
    const auto uses = [&](const transfer_request &request) {
        return request.in_use && request.missing > 0 &&
               std::ranges::find(request.memory, memory.get()) != request.memory.end();
    };
    if (fabric_ != nullptr && std::ranges::any_of(requests(), uses)) {
        give_up("memory was deregistered while a request used it", true);
        close();
    }
    const std::shared_ptr<session> at = memory->at; // outlives the region
    const auto held = at->endpoint.lock();
    memory.reset();
}

} // namespace mrc::nccl_plugin
