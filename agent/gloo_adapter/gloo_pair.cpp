// SPDX-License-Identifier: Apache-2.0
#include "gloo_adapter/gloo_pair.h"

#include <gloo/common/error.h>

#include "gloo_adapter/gloo_buffer.h"
#include "gloo_adapter/gloo_context.h"
#include "messaging/failure.h"

namespace mrc::gloo_adapter
{

gloo_pair::gloo_pair(gloo_context &context, int peer_rank)
    : context_{context}, peer_rank_{peer_rank}, sends_{&context.memory()}, far_receives_{&context.memory()},
      unannounced_{&context.memory()}, receives_{&context.memory()}, flying_{&context.memory()}, bound_{*this}
{
    try {
        connection_ = context_.endpoint().open(*this);
    } catch (const messaging::messaging_failure &failure) {
        throw gloo::IoException("mrc: no pair with rank " + std::to_string(peer_rank) + ": " + failure.what());
    }
    address_ = gloo_address{connection_->address()};
}

gloo_pair::~gloo_pair()
{
    auto held = context_.lock();
    end(held);
    unannounced_.clear(); // as all else in memory that other pairs use: while there is the lock
}

void gloo_pair::close()
{
    auto held = context_.lock();
    end(held);
}

void gloo_pair::end(messaging::fabric_endpoint::lock_type &held)
{
    refuse("mrc: the pair with " + peer_name() + " is closed");
    if (connection_ == nullptr)
        return;
    // The far end may write into receives, and what flies is read: not after this.
    if (!cutting_ && receives_.empty() && !bound_.receives() && !connection_->ring().writes_under_way()) {
        context_.endpoint().close(connection_);
    } else {
        messaging::fabric_connection *only = connection_;
        context_.endpoint().cut(std::span{&only, 1}, held);
    }
    connection_ = nullptr;
    signal();
}

void gloo_pair::connect(const std::vector<char> &bytes)
{
    const auto peer = messaging::peer_address::decode(bytes);
    if (!peer)
        throw gloo::InvalidOperationException(
            "mrc: rank " + std::to_string(peer_rank_) +
            " has no address of this transport; does it use GLOO_DEVICE_TRANSPORT=MRC?");
    auto held = context_.lock();
    if (failure_)
        std::rethrow_exception(failure_);
    peer_text_ = peer->text();
    (void)context_.endpoint().connect(*connection_, *peer);
    const std::chrono::milliseconds limit = context_.getTimeout();
    const auto ready = [&] { return connected_ || failure_ != nullptr; };
    if (limit == gloo::kNoTimeout)
        connected_changed_.wait(held, ready);
    else if (!connected_changed_.wait_for(held, limit, ready))
        refuse("mrc: " + peer_name() + " did not connect within " + std::to_string(limit.count()) + "ms");
    if (!connected_)
        std::rethrow_exception(failure_);
}

void gloo_pair::setSync(bool /*enable*/, bool /*busy_poll*/) {}

std::unique_ptr<gloo::transport::Buffer> gloo_pair::createSendBuffer(int slot, void *address, std::size_t bytes)
{
    return std::make_unique<bound_buffer>(*this, slot, address, bytes, false);
}

std::unique_ptr<gloo::transport::Buffer> gloo_pair::createRecvBuffer(int slot, void *address, std::size_t bytes)
{
    return std::make_unique<bound_buffer>(*this, slot, address, bytes, true);
}

std::string gloo_pair::peer_name() const
{
    return "rank " + std::to_string(peer_rank_) + (peer_text_.empty() ? "" : " (" + peer_text_ + ")");
}

void gloo_pair::throw_if_failed() const
{
    if (failure_)
        std::rethrow_exception(failure_);
    if (!connected_)
        throw gloo::IoException("mrc: " + peer_name() + " is not connected");
}

std::uint32_t gloo_pair::next_id()
{
    do
        last_id_ = (last_id_ + 1) & arrival_value::id_mask;
    while (receives_.contains(last_id_) || bound_.knows(last_id_));
    return last_id_;
}

std::uint32_t gloo_pair::most_inline() const
{
    return connection_->ring().longest_message() - static_cast<std::uint32_t>(sizeof(message_head));
}

messaging::held_range gloo_pair::registered(const void *address, std::size_t bytes, messaging::region_use use)
{
    auto found = context_.endpoint().registrations().find(address, bytes, use);
    if (!found)
        throw gloo::IoException("mrc: cannot register " + std::to_string(bytes) + " bytes for " + peer_name() + ": " +
                                messaging::failure_reason());
    return found;
}

void gloo_pair::send(gloo::transport::UnboundBuffer *buffer, std::uint64_t slot, std::size_t offset, std::size_t bytes)
{
    const auto held = context_.lock();
    throw_if_failed();
    const waiting_send one{.buffer = static_cast<gloo_buffer *>(buffer), .offset = offset, .bytes = bytes};
    const auto first = far_receives_.lower_bound(slot);
    if (first == far_receives_.end() || first->first != slot) {
        sends_.emplace(slot, one);
        tell({.type = message_type::send_ready, .slot = slot});
        return;
    }
    const messaging::held_range source = source_of(one);
    const message_head receive = first->second;
    far_receives_.erase(first);
    transfer(one, source, receive, false);
}

void gloo_pair::recv(gloo::transport::UnboundBuffer *buffer, std::uint64_t slot, std::size_t offset, std::size_t bytes)
{
    const auto held = context_.lock();
    receive(prepared(*static_cast<gloo_buffer *>(buffer), slot, offset, bytes));
}

gloo_pair::posted_receive gloo_pair::prepared(gloo_buffer &buffer, std::uint64_t slot, std::size_t offset,
                                              std::size_t bytes)
{
    throw_if_failed();
    posted_receive one{.buffer = &buffer, .offset = offset, .bytes = bytes, .slot = slot, .memory = {}};
    if (bytes > most_inline())
        one.memory = registered(buffer.ptr, buffer.size, messaging::region_use::target);
    return one;
}

void gloo_pair::receive(posted_receive &&one)
{
    message_head head{.type = message_type::receive_ready, .id = next_id(), .slot = one.slot, .bytes = one.bytes};
    if (one.memory) {
        head.address = reinterpret_cast<std::uintptr_t>(at(*one.buffer, one.offset));
        head.rkey = one.memory->rkey;
    }
    receives_.emplace(head.id, std::move(one));
    if (!context_.take_offer(peer_rank_, head.slot))
        ++unannounced_[head.slot];
    tell(head);
}

messaging::held_range gloo_pair::source_of(const waiting_send &send)
{
    return send.bytes > most_inline() ? registered(send.buffer->ptr, send.buffer->size, messaging::region_use::source)
                                      : nullptr;
}

void gloo_pair::transfer(const waiting_send &send, const messaging::held_range &source, const message_head &receive,
                         bool announced)
{
    const std::uint64_t flight = next_flight_++;
    flying_.emplace(flight, send.buffer);
    if (send.bytes > receive.bytes) {
        fail_connection("receives " + std::to_string(receive.bytes) + " bytes where this rank sends " +
                        std::to_string(send.bytes) + " (slot " + std::to_string(receive.slot) + ")");
        return;
    }
    const auto done = [this, flight] {
        if (const auto found = flying_.find(flight); found != flying_.end()) {
            gloo_buffer *buffer = found->second;
            flying_.erase(found);
            buffer->on_sent(peer_rank_);
        }
    };
    if (!source) {
        const message_head head{.type = message_type::data,
                                .id = receive.id,
                                .slot = receive.slot,
                                .bytes = send.bytes,
                                .announced = announced ? 1U : 0U};
        ring().send(bytes_of(head), {at(*send.buffer, send.offset), send.bytes}, done);
        return;
    }
    const messaging::write_order order{.source = reinterpret_cast<std::uintptr_t>(at(*send.buffer, send.offset)),
                                       .lkey = source->lkey,
                                       .target = receive.address,
                                       .rkey = receive.rkey,
                                       .imm = {}};
    ring().write(order, send.bytes, arrival_value::encode(receive.id, announced), [done, source] { done(); });
}

} // namespace mrc::gloo_adapter
