// SPDX-License-Identifier: Apache-2.0
#include "gloo_adapter/bound_buffers.h"

#include <cstring>
#include <string>
#include <utility>

#include <gloo/common/error.h>

#include "gloo_adapter/gloo_context.h"
#include "gloo_adapter/gloo_pair.h"

namespace mrc::gloo_adapter
{

bound_buffer::bound_buffer(gloo_pair &pair, int slot, void *address, std::size_t bytes, bool receives)
    : Buffer{slot, address, bytes}, pair_{pair}, receives_{receives}
{
    const auto held = pair_.context().lock();
    pair_.throw_if_failed();
    pair_.bound().add(*this);
}

bound_buffer::~bound_buffer()
{
    auto held = pair_.context().lock();
    if (!wait_until(held, [this] { return is_read(); }))
        pair_.context().fail(held, "mrc: closed after a time-out of this process: a buffer of " + pair_.peer_name() +
                                       " went before its sends were complete");
    pair_.bound().remove(*this);
}

void bound_buffer::send(std::size_t offset, std::size_t bytes, std::size_t peer_offset)
{
    auto held = pair_.context().lock();
    pair_.throw_if_failed();
    if (offset > size_ || bytes > size_ - offset)
        throw gloo::InvalidOperationException("mrc: a send beyond the end of its buffer");
    request what{.offset = offset, .bytes = bytes, .peer_offset = peer_offset, .copy = {}};
    const bool copied = bytes <= pair_.most_inline();
    if (copied) {
        const auto *first = static_cast<const std::byte *>(ptr_) + offset;
        what.copy.assign(first, first + bytes);
    }
    const auto target = pair_.bound().peers_buffers_.find(static_cast<std::uint64_t>(slot_));
    if (target == pair_.bound().peers_buffers_.end())
        waiting_.push_back(std::move(what));
    else
        pair_.bound().post(*this, what, target->second);
    if (copied)
        return;
    wait_in_time(held, "send", [this] { return is_read(); });
    if (under_way_ != 0 || !waiting_.empty())
        std::rethrow_exception(pair_.failure());
}

bool bound_buffer::is_read() const
{
    const bound_buffers &all = pair_.bound();
    return all.over_ || (under_way_ == 0 && (waiting_.empty() || all.closed_));
}

void bound_buffer::waitRecv()
{
    const bound_buffers &all = pair_.bound();
    wait(received_, "recv", [&] { return received_ > 0 || all.closed_ || all.over_; });
}

void bound_buffer::waitSend()
{
    const bound_buffers &all = pair_.bound();
    wait(sent_, "send", [&] { return sent_ > 0 || (all.closed_ && under_way_ == 0) || all.over_; });
}

template <typename Ready>
bool bound_buffer::wait_until(messaging::fabric_endpoint::lock_type &held, const Ready &ready)
{
    bound_buffers &all = pair_.bound();
    const std::chrono::milliseconds limit = pair_.context().getTimeout();
    bool in_time = true;
    ++all.waiting_;
    if (limit == gloo::kNoTimeout)
        all.changed_.wait(held, ready);
    else
        in_time = all.changed_.wait_for(held, limit, ready);
    --all.waiting_;
    return in_time;
}

template <typename Ready>
void bound_buffer::wait_in_time(messaging::fabric_endpoint::lock_type &held, const char *what, const Ready &ready)
{
    if (wait_until(held, ready))
        return;
    const std::string text = "mrc: Timed out waiting " + std::to_string(pair_.context().getTimeout().count()) +
                             "ms for " + what + " operation to complete, with " + pair_.peer_name();
    pair_.context().fail(held, "mrc: closed after a time-out of this process: " + text);
    throw gloo::IoException(text);
}

template <typename Ready>
void bound_buffer::wait(std::uint64_t &count, const char *what, const Ready &ready)
{
    auto held = pair_.context().lock();
    wait_in_time(held, what, ready);
    if (count == 0)
        std::rethrow_exception(pair_.failure());
    --count;
}

void bound_buffers::add(bound_buffer &one)
{
    const auto use = one.receives_ ? messaging::region_use::target : messaging::region_use::source;
    if (one.size_ > 0)
        one.memory_ = pair_.registered(one.ptr_, one.size_, use);
    const auto slot = static_cast<std::uint64_t>(one.slot_);
    if (!one.receives_) {
        senders_[slot] = &one;
        return;
    }
    one.id_ = pair_.next_id();
    own_[one.id_] = &one;
    pair_.tell({.type = message_type::buffer_ready,
                .id = one.id_,
                .slot = slot,
                .address = reinterpret_cast<std::uintptr_t>(one.ptr_),
                .bytes = one.size_,
                .rkey = one.memory_ ? one.memory_->rkey : 0});
}

void bound_buffers::remove(bound_buffer &one)
{
    const auto slot = static_cast<std::uint64_t>(one.slot_);
    if (one.receives_ && own_.erase(one.id_) > 0 && pair_.failure() == nullptr)
        pair_.tell({.type = message_type::buffer_gone, .id = one.id_, .slot = slot});
    if (const auto found = senders_.find(slot); found != senders_.end() && found->second == &one)
        senders_.erase(found);
}

void bound_buffers::post(bound_buffer &from, const bound_buffer::request &what, const message_head &target)
{
    if (what.peer_offset > target.bytes || what.bytes > target.bytes - what.peer_offset)
        throw gloo::InvalidOperationException("mrc: a send beyond the end of the buffer of " + pair_.peer_name());
    ++from.under_way_;
    const auto done = [this, &from] { // which is there until this, or until all is over
        --from.under_way_;
        ++from.sent_;
        changed_.notify_all();
    };
    if (what.bytes <= pair_.most_inline()) {
        const message_head head{
            .type = message_type::buffer_data, .id = target.id, .address = what.peer_offset, .bytes = what.bytes};
        pair_.ring().send(bytes_of(head), what.copy, done);
        return;
    }
    const messaging::write_order order{
        .source = reinterpret_cast<std::uintptr_t>(static_cast<std::byte *>(from.ptr_) + what.offset),
        .lkey = from.memory_ ? from.memory_->lkey : 0,
        .target = target.address + what.peer_offset,
        .rkey = target.rkey,
        .imm = {}};
    pair_.ring().write(order, what.bytes, arrival_value::encode(target.id, true), done);
}

void bound_buffers::on_message(const message_head &head)
{
    const auto known = peers_buffers_.find(head.slot);
    if (head.type == message_type::buffer_gone) {
        if (known != peers_buffers_.end() && known->second.id == head.id)
            peers_buffers_.erase(known);
        return;
    }
    peers_buffers_[head.slot] = head;
    const auto sender = senders_.find(head.slot);
    if (sender == senders_.end())
        return;
    bound_buffer &from = *sender->second;
    while (!from.waiting_.empty()) {
        post(from, from.waiting_.front(), head);
        from.waiting_.pop_front();
    }
}

void bound_buffers::on_arrival(std::uint32_t id)
{
    ++own_.at(id)->received_;
    changed_.notify_all();
}

bool bound_buffers::on_data(const message_head &head, std::span<const std::byte> bytes)
{
    const auto found = own_.find(head.id);
    if (found == own_.end() || head.address > found->second->size_ ||
        bytes.size() > found->second->size_ - head.address)
        return false;
    if (!bytes.empty())
        std::memcpy(static_cast<std::byte *>(found->second->ptr_) + head.address, bytes.data(), bytes.size());
    on_arrival(head.id);
    return true;
}

void bound_buffers::on_closed()
{
    closed_ = true;
    changed_.notify_all();
}

void bound_buffers::on_over()
{
    over_ = true;
    changed_.notify_all();
}

} // namespace mrc::gloo_adapter
