// SPDX-License-Identifier: Apache-2.0
#include "messaging/ring_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mrc::messaging
{

ring_connection::ring_connection(write_port &port, const ring_shape &shape, ring_memory memory,
                                 connection_listener &listener)
    : port_{port}, shape_{shape}, memory_{memory}, listener_{&listener}, posted_{shape.sends()}
{
}

bool ring_connection::prepare()
{
    for (std::uint32_t i = 0; i < shape_.receives() && !failed_; ++i)
        receive_again();
    return !failed_;
}

void ring_connection::receive_again()
{
    if (const int error = port_.post_receive(); error != 0)
        fail(std::string{"cannot post a receive request: "} + std::strerror(error));
}

void ring_connection::start(const ring_shape &peer, std::uint64_t peer_ring, std::uint32_t peer_rkey)
{
    peer_shape_ = peer;
    peer_ring_ = peer_ring;
    peer_rkey_ = peer_rkey;
    longest_message_ = std::min(shape_.slot_bytes, peer.slot_bytes);
    credit_ = credit_account{shape_.slots, peer.slots};
    started_ = true;
    post_empty(immediate{.kind = immediate_kind::hello, .value = 0});
    pump();
}

void ring_connection::send(std::span<const std::byte> head, std::span<const std::byte> body, done_function done)
{
    if (failed_ || closing_)
        return;
    if (waiting_.empty() && may_post()) {
        post_message(head, body, std::move(done));
        return;
    }
    outgoing next;
    next.message.reserve(head.size() + body.size());
    next.message.insert(next.message.end(), head.begin(), head.end());
    next.message.insert(next.message.end(), body.begin(), body.end());
    next.done = std::move(done);
    waiting_.push_back(std::move(next));
}

void ring_connection::write(const write_order &whole, std::uint64_t bytes, std::uint32_t value, done_function done)
{
    if (failed_ || closing_)
        return;
    ++long_writes_;
    waiting_.push_back({.message = {}, .order = whole, .left = bytes, .value = value, .done = std::move(done)});
    pump();
}

void ring_connection::tick()
{
    const bool heard = std::exchange(heard_, false);
    if (failed_ || !started_)
        return;
    if (posted_.empty()) {
        owed_ticks_ = 0;
        if (!heard && listener_ != nullptr && listener_->waits())
            post_empty(std::nullopt); // fails when the far end is no longer there
    } else if (greeted_ && ++owed_ticks_ >= patience_ticks) {
        fail("it does not answer any more");
    }
}

void ring_connection::farewell()
{
    if (failed_ || closing_ || !started())
        return;
    closing_ = true;
    waiting_.clear();
    post_empty(immediate{.kind = immediate_kind::farewell, .value = 0});
}

bool ring_connection::may_post() const
{
    return started_ && !failed_ && !closing_ && credit_.may_send() && posted_.size() < shape_.slots;
}

void ring_connection::pump()
{
    while (!waiting_.empty() && may_post()) {
        outgoing &front = waiting_.front();
        if (front.message.empty()) {
            post_piece(front);
            continue;
        }
        outgoing next = std::move(front);
        waiting_.pop_front();
        post_message(next.message, {}, std::move(next.done));
    }
}

void ring_connection::post_message(std::span<const std::byte> head, std::span<const std::byte> body, done_function done)
{
    const std::uint64_t own_slot = sent_messages_ % shape_.slots; // free: fewer WRITEs than slots are under way
    const std::uint64_t peer_slot = sent_messages_ % peer_shape_.slots;
    const std::span<std::byte> staged =
        memory_.staging.subspan(own_slot * shape_.slot_bytes, head.size() + body.size());
    std::ranges::copy(body, std::ranges::copy(head, staged.begin()).out);
    ++sent_messages_;
    credit_.on_sent();
    post({.source = reinterpret_cast<std::uintptr_t>(staged.data()),
          .bytes = static_cast<std::uint32_t>(staged.size()),
          .lkey = memory_.lkey,
          .target = peer_ring_ + peer_slot * peer_shape_.slot_bytes,
          .rkey = peer_rkey_,
          .imm = immediate{.kind = immediate_kind::message, .value = 0}.encode()},
         std::move(done));
}

void ring_connection::post_piece(outgoing &front)
{
    write_order order = front.order;
    order.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(front.left, longest_write));
    front.left -= order.bytes;
    front.order.source += order.bytes;
    front.order.target += order.bytes;
    const bool last = front.left == 0;
    order.imm =
        immediate{.kind = last ? immediate_kind::arrival : immediate_kind::piece, .value = front.value}.encode();
    done_function after;
    if (last) {
        after = [this, done = std::move(front.done)] {
            --long_writes_;
            if (done)
                done();
        };
        waiting_.pop_front();
    }
    credit_.on_sent();
    post(order, std::move(after));
}

void ring_connection::post(const write_order &order, done_function done)
{
    if (failed_)
        return;
    if (const int error = posted_.full() ? ENOMEM : port_.post_write(order); error != 0)
        fail(std::string{"cannot post a WRITE: "} + std::strerror(error));
    else
        posted_.push_back(std::move(done));
}

void ring_connection::post_empty(std::optional<immediate> imm)
{
    write_order order;
    order.target = peer_ring_;
    order.rkey = peer_rkey_;
    if (imm)
        order.imm = imm->encode();
    post(order, {});
}

void ring_connection::return_credit()
{
    if (!started() || failed_ || closing_)
        return;
    const std::uint32_t due = credit_.due();
    if (due == 0 || posted_.size() + credit_account::reserve >= shape_.sends())
        return; // with the next completion
    credit_.on_returned(due);
    post_empty(immediate{.kind = immediate_kind::credit, .value = due});
}

void ring_connection::on_write_completed()
{
    if (failed_ || posted_.empty())
        return;
    heard_ = true;
    owed_ticks_ = 0;
    const done_function done = std::move(posted_.front());
    posted_.pop_front();
    if (done && listener_ != nullptr)
        done();
    return_credit();
    pump();
}

void ring_connection::on_received(std::uint32_t imm, std::uint32_t bytes)
{
    if (failed_)
        return;
    heard_ = true;
    consume(immediate::decode(imm), bytes);
    if (failed_)
        return;
    receive_again();
    return_credit();
    pump();
}

void ring_connection::consume(immediate what, std::uint32_t bytes)
{
    if (!started()) {
        fail("the far end wrote before this end was connected");
        return;
    }
    switch (what.kind) {
    case immediate_kind::message: {
        const std::uint64_t slot = received_messages_++ % shape_.slots;
        credit_.on_consumed();
        if (listener_ != nullptr)
            listener_->on_message(memory_.ring.subspan(slot * shape_.slot_bytes, std::min(bytes, shape_.slot_bytes)));
        return;
    }
    case immediate_kind::piece:
        arriving_bytes_ += bytes;
        credit_.on_consumed();
        return;
    case immediate_kind::arrival:
        credit_.on_consumed();
        if (listener_ != nullptr)
            listener_->on_arrival(what.value, std::exchange(arriving_bytes_, 0) + bytes);
        return;
    case immediate_kind::credit:
        if (!credit_.on_credit(what.value))
            fail("it gives back more credit than it was sent messages");
        return;
    case immediate_kind::hello:
        greeted_ = true;
        if (listener_ != nullptr)
            listener_->on_connected();
        return;
    case immediate_kind::farewell:
        farewell_arrived_ = true;
        if (listener_ != nullptr)
            listener_->on_closed();
        return;
    }
    fail("the far end speaks another language");
}

void ring_connection::fail(const std::string &why)
{
    if (std::exchange(failed_, true))
        return;
    waiting_.clear();
    port_.abandon();
    if (listener_ != nullptr)
        listener_->on_failure(why);
}

void ring_connection::detach()
{
    listener_ = nullptr; // what `done` functions hold is held until the far end has answered
}

} // namespace mrc::messaging
