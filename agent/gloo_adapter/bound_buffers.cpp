// SPDX-License-Identifier: Apache-2.0
#include "gloo_adapter/bound_buffers.h"

#include <algorithm>
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
    // What is under way reads this buffer's memory.
    progress_->changed.wait_for(held, pair_.context().getTimeout(),
                                [this] { return progress_->unsent == 0 || pair_.failure() != nullptr; });
    pair_.bound().remove(*this);
}

void bound_buffer::send(std::size_t offset, std::size_t bytes, std::size_t peer_offset)
{
    const auto held = pair_.context().lock();
    pair_.throw_if_failed();
    if (offset > size_ || bytes > size_ - offset)
        throw gloo::InvalidOperationException("mrc: a send beyond the end of its buffer");
    ++progress_->unsent;
    request what{.offset = offset, .bytes = bytes, .peer_offset = peer_offset, .copy = {}};
    if (bytes <= pair_.most_inline()) {
        const auto *first = static_cast<const std::byte *>(ptr_) + offset;
        what.copy.assign(first, first + bytes);
    }
    const auto target = pair_.bound().peers_buffers_.find(static_cast<std::uint64_t>(slot_));
    if (target == pair_.bound().peers_buffers_.end())
        waiting_.push_back(std::move(what));
    else
        pair_.bound().post(*this, what, target->second);
}

void bound_buffer::waitRecv()
{
    wait(progress_->received, "recv");
}

void bound_buffer::waitSend()
{
    wait(progress_->sent, "send");
}

void bound_buffer::wait(std::uint64_t &count, const char *what)
{
    auto held = pair_.context().lock();
    const std::chrono::milliseconds limit = pair_.context().getTimeout();
    const auto ready = [&] { return count > 0 || pair_.failure() != nullptr; };
    waits_ = true;
    bool over = true;
    if (limit == gloo::kNoTimeout)
        progress_->changed.wait(held, ready);
    else
        over = progress_->changed.wait_for(held, limit, ready);
    waits_ = false;
    if (!over) {
        const std::string text = "mrc: Timed out waiting " + std::to_string(limit.count()) + "ms for " + what +
                                 " operation to complete, with " + pair_.peer_name();
        pair_.context().fail(held, "mrc: closed after a time-out of this process: " + text);
        throw gloo::IoException(text);
    }
    if (count == 0)
        std::rethrow_exception(pair_.failure());
    --count;
}

std::unique_ptr<gloo::transport::Buffer> bound_buffers::create(int slot, void *address, std::size_t bytes,
                                                               bool receives)
{
    return std::make_unique<bound_buffer>(pair_, slot, address, bytes, receives);
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
    if (one.receives_ && own_.erase(one.id_) > 0 && pair_.connection() != nullptr)
        pair_.tell({.type = message_type::buffer_gone, .id = one.id_, .slot = slot});
    if (const auto found = senders_.find(slot); found != senders_.end() && found->second == &one)
        senders_.erase(found);
}

void bound_buffers::post(bound_buffer &from, const bound_buffer::request &what, const message_head &target)
{
    if (what.peer_offset > target.bytes || what.bytes > target.bytes - what.peer_offset)
        throw gloo::InvalidOperationException("mrc: a send beyond the end of the buffer of " + pair_.peer_name());
    const auto done = [progress = from.progress_] {
        --progress->unsent;
        ++progress->sent;
        progress->changed.notify_all();
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

bool bound_buffers::waits() const
{
    const auto waiting = [](const auto &entry) { return entry.second->waits_; };
    return std::ranges::any_of(own_, waiting) || std::ranges::any_of(senders_, waiting);
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
        const bound_buffer::request what = std::move(from.waiting_.front());
        from.waiting_.pop_front();
        post(from, what, head);
    }
}

void bound_buffers::on_arrival(std::uint32_t id)
{
    bound_buffer &into = *own_.at(id);
    ++into.progress_->received;
    into.progress_->changed.notify_all();
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

void bound_buffers::on_failure()
{
    for (const auto &[id, one] : own_)
        one->progress_->changed.notify_all();
    for (const auto &[slot, one] : senders_)
        one->progress_->changed.notify_all();
}

} // namespace mrc::gloo_adapter
