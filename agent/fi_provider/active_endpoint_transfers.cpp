// SPDX-License-Identifier: Apache-2.0
// Transfers of an endpoint, with the domain's lock held once the program's calls have taken it.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <rdma/fi_errno.h>

#include "fi_provider/active_endpoint.h"
#include "fi_provider/info.h"
#include "messaging/immediate.h"

namespace mrc::fi_provider
{

namespace
{

constexpr std::uint64_t data_flag(bool there)
{
    return there ? FI_REMOTE_CQ_DATA : 0;
}

} // namespace

// Never 0, which is plain_write; and fits into an immediate.
std::uint32_t active_endpoint::next_id()
{
    do
        last_id_ = (last_id_ + 1) & messaging::immediate::value_mask;
    while (last_id_ == plain_write || outgoing_.contains(last_id_) || arriving_.contains(last_id_));
    return last_id_;
}

messaging::held_range active_endpoint::region(const void *data, std::size_t bytes, messaging::region_use use)
{
    return in_.endpoint.registrations().find(data, bytes, use);
}

int active_endpoint::may_transmit(const transfer_call &call) const
{
    if (!ready_)
        return -FI_ENOTCONN;
    if (call.bytes > most_bytes || ((call.flags & FI_INJECT) != 0 && call.bytes > inject_bytes))
        return -FI_EMSGSIZE;
    return outgoing_.size() >= most_transfers ? -FI_EAGAIN : 0;
}

std::uint32_t active_endpoint::begin(const transfer_call &call, std::uint64_t completion_flags)
{
    const std::uint32_t id = next_id();
    outgoing_.emplace(id, outgoing{.call = call, .completion_flags = completion_flags, .range = {}});
    return id;
}

void active_endpoint::complete(std::uint32_t id, int error)
{
    const auto found = outgoing_.find(id);
    if (found == outgoing_.end())
        return; // ended with the connection
    const transfer_call call = found->second.call;
    const std::uint64_t flags = found->second.completion_flags;
    outgoing_.erase(found);
    if (error != 0)
        transmitted_->add_failure({.op_context = call.context,
                                   .flags = flags,
                                   .len = 0,
                                   .buf = nullptr,
                                   .data = 0,
                                   .tag = 0,
                                   .olen = 0,
                                   .err = error,
                                   .prov_errno = error,
                                   .err_data = nullptr,
                                   .err_data_size = 0});
    else if ((call.flags & FI_COMPLETION) != 0 || (!transmits_selected_ && !call.silent))
        transmitted_->add(
            {.op_context = call.context, .flags = flags, .len = call.bytes, .buf = nullptr, .data = 0, .tag = 0});
}

ssize_t active_endpoint::send(const transfer_call &call)
{
    const auto held = in_.endpoint.lock();
    if (const int refused = may_transmit(call); refused != 0)
        return refused;
    if (!untaken_credit_.may_send())
        return -FI_EAGAIN;
    transfer_head head{.kind = transfer_kind::send,
                       .has_data = (call.flags & FI_REMOTE_CQ_DATA) != 0,
                       .size = call.bytes,
                       .data = call.remote_data};
    const std::span body{static_cast<const std::byte *>(call.data), call.bytes};
    const bool fits = call.bytes + transfer_head::encoded_bytes <= ring().longest_message();
    messaging::held_range source;
    if (!fits) {
        source = region(call.data, call.bytes, messaging::region_use::source);
        if (!source)
            return -errno;
    }
    const std::uint32_t id = begin(call, FI_SEND | FI_MSG);
    untaken_credit_.on_sent();
    if (fits) {
        ring().send(head.encode(), body, [this, id] { complete(id); });
        return 0;
    }
    outgoing_.at(id).range = std::move(source);
    head.kind = transfer_kind::announce;
    head.id = id;
    tell(head);
    return 0;
}

ssize_t active_endpoint::write(const transfer_call &call)
{
    const auto held = in_.endpoint.lock();
    if (const int refused = may_transmit(call); refused != 0)
        return refused;
    const std::uint32_t id = begin(call, FI_WRITE | FI_RMA);
    outgoing &one = outgoing_.at(id);
    const void *data = call.data;
    std::shared_ptr<std::vector<std::byte>> copy; // of what is injected, as long as the WRITE is under way
    if ((call.flags & FI_INJECT) != 0) {
        const auto *first = static_cast<const std::byte *>(call.data);
        copy = std::make_shared<std::vector<std::byte>>(first, first + call.bytes);
        data = copy->data();
    }
    if (call.bytes > 0)
        one.range = region(data, call.bytes, messaging::region_use::source);
    if (call.bytes > 0 && !one.range) {
        const int error = errno;
        outgoing_.erase(id);
        return -error;
    }
    const bool tells = (call.flags & FI_REMOTE_CQ_DATA) != 0;
    const messaging::write_order order{.source = reinterpret_cast<std::uintptr_t>(data),
                                       .bytes = 0,
                                       .lkey = one.range ? one.range->lkey : 0,
                                       .target = call.address,
                                       .rkey = static_cast<std::uint32_t>(call.key),
                                       .imm = {}};
    ring().write(order, call.bytes, plain_write, [this, id, tells, copy] {
        if (!tells)
            complete(id);
    });
    if (tells)
        ring().send(
            transfer_head{
                .kind = transfer_kind::written, .has_data = true, .size = call.bytes, .data = call.remote_data}
                .encode(),
            {}, [this, id] { complete(id); });
    return 0;
}

ssize_t active_endpoint::read(const transfer_call &call)
{
    const auto held = in_.endpoint.lock();
    if (const int refused = may_transmit(call); refused != 0)
        return refused;
    if (call.bytes == 0)
        return -FI_EINVAL;
    messaging::held_range target = region(call.data, call.bytes, messaging::region_use::target);
    if (!target)
        return -errno;
    const std::uint32_t id = begin(call, FI_READ | FI_RMA);
    const std::uint32_t rkey = target->rkey;
    outgoing_.at(id).range = std::move(target); // before the connection may fail by what follows
    tell({.kind = transfer_kind::read,
          .id = id,
          .size = call.bytes,
          .data = reinterpret_cast<std::uintptr_t>(call.data),
          .address = call.address,
          .key = static_cast<std::uint32_t>(call.key),
          .other = rkey});
    return 0;
}

ssize_t active_endpoint::receive(const transfer_call &call)
{
    const auto held = in_.endpoint.lock();
    if (over_)
        return -FI_ENOTCONN;
    if (received_ == nullptr)
        return -FI_ENOCQ;
    if (wanted_.size() >= most_transfers)
        return -FI_EAGAIN;
    wanted_.push_back({.call = call, .range = {}});
    if (!untaken_.empty()) {
        const untaken first = std::move(untaken_.front());
        untaken_.pop_front();
        take(wanted_.back(), first.head, first.bytes);
    }
    return 0;
}

ssize_t active_endpoint::cancel(const void *context)
{
    const auto held = in_.endpoint.lock();
    const auto found =
        std::ranges::find_if(wanted_, [&](const wanted &one) { return !one.taken && one.call.context == context; });
    if (found == wanted_.end())
        return -FI_ENOENT;
    found->taken = true;
    finish(*found, FI_ECANCELED);
    complete_receives();
    return 0;
}

// A send of the far end has its receive.
void active_endpoint::take(wanted &by, const transfer_head &head, std::span<const std::byte> bytes)
{
    by.taken = true;
    by.completion.flags = FI_RECV | FI_MSG | data_flag(head.has_data);
    by.completion.data = head.data;
    by.completion.len = std::min<std::size_t>(head.size, by.call.bytes);
    by.completion.olen = head.size - by.completion.len;
    untaken_credit_.on_consumed();
    if (const std::uint32_t due = untaken_credit_.due(); due > 0) {
        untaken_credit_.on_returned(due);
        tell({.kind = transfer_kind::credit, .id = due});
        if (over_)
            return; // the connection failed by it: all receives have ended
    }
    if (head.kind == transfer_kind::announce) {
        announced(by, head);
        return;
    }
    if (by.completion.len > 0)
        std::memcpy(by.call.data, bytes.data(), by.completion.len);
    finish(by, by.completion.olen > 0 ? FI_ETRUNC : 0);
    complete_receives();
}

void active_endpoint::announced(wanted &by, const transfer_head &head)
{
    int error = by.completion.olen > 0 ? FI_ETRUNC : 0;
    if (error == 0) {
        by.range = region(by.call.data, head.size, messaging::region_use::target);
        if (!by.range)
            error = errno;
    }
    if (error != 0) {
        tell({.kind = transfer_kind::no_go, .id = head.id});
        if (over_)
            return;
        by.completion.len = 0;
        finish(by, error);
        complete_receives();
        return;
    }
    const std::uint32_t arrival = next_id();
    arriving_.emplace(arrival, &by);
    tell({.kind = transfer_kind::go,
          .id = head.id,
          .address = reinterpret_cast<std::uintptr_t>(by.call.data),
          .key = by.range->rkey,
          .other = arrival});
}

void active_endpoint::finish(wanted &one, int error)
{
    one.done = true;
    one.completion.op_context = one.call.context;
    one.completion.buf = one.call.data;
    one.completion.flags |= FI_RECV | FI_MSG;
    one.completion.err = one.completion.prov_errno = error;
}

void active_endpoint::complete_receives()
{
    for (; !wanted_.empty() && wanted_.front().done; wanted_.pop_front()) {
        const wanted &front = wanted_.front();
        const fi_cq_err_entry &what = front.completion;
        if (what.err != 0)
            received_->add_failure(what);
        else if (!receives_selected_ || (front.call.flags & FI_COMPLETION) != 0)
            received_->add({.op_context = what.op_context,
                            .flags = what.flags,
                            .len = what.len,
                            .buf = what.buf,
                            .data = what.data,
                            .tag = 0});
    }
}

void active_endpoint::on_message(std::span<const std::byte> message)
{
    const auto head = transfer_head::decode(message);
    if (!head) {
        ring().fail("it sends what is no message of this provider");
        return;
    }
    if (over_)
        return;
    const auto bytes = message.subspan(transfer_head::encoded_bytes);
    switch (head->kind) {
    case transfer_kind::send:
        if (head->size != bytes.size()) {
            ring().fail("it sends a message of another size than it says");
            return;
        }
        [[fallthrough]];
    case transfer_kind::announce: {
        const auto free = std::ranges::find(wanted_, false, &wanted::taken);
        if (free != wanted_.end())
            take(*free, *head, bytes);
        else if (untaken_.size() < most_untaken)
            untaken_.push_back({.head = *head, .bytes = {bytes.begin(), bytes.end()}});
        else
            ring().fail("it sends more than there is credit for");
        return;
    }
    case transfer_kind::go:
        let_go(*head);
        return;
    case transfer_kind::no_go:
        complete(head->id);
        return;
    case transfer_kind::credit:
        untaken_credit_.on_credit(head->id);
        return;
    case transfer_kind::written:
        received_->add({.op_context = nullptr,
                        .flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
                        .len = head->size,
                        .buf = nullptr,
                        .data = head->data,
                        .tag = 0});
        return;
    case transfer_kind::read:
        give(*head);
        return;
    case transfer_kind::unreadable:
        complete(head->id, FI_EACCES);
        return;
    }
}

// The far end has said where an announced send goes.
void active_endpoint::let_go(const transfer_head &head)
{
    const auto found = outgoing_.find(head.id);
    if (found == outgoing_.end() || !found->second.range) {
        ring().fail("it takes a send that was not announced");
        return;
    }
    const outgoing &one = found->second;
    const messaging::write_order order{.source = reinterpret_cast<std::uintptr_t>(one.call.data),
                                       .bytes = 0,
                                       .lkey = one.range->lkey,
                                       .target = head.address,
                                       .rkey = head.key,
                                       .imm = {}};
    ring().write(order, one.call.bytes, head.other, [this, id = head.id] { complete(id); });
}

// The far end reads memory of this one.
void active_endpoint::give(const transfer_head &head)
{
    const memory_region *from = in_.readable(head.address, head.size, head.key);
    if (from == nullptr || head.size == 0) {
        tell({.kind = transfer_kind::unreadable, .id = head.id});
        return;
    }
    const messaging::write_order order{.source = head.address,
                                       .bytes = 0,
                                       .lkey = from->range->lkey,
                                       .target = head.data,
                                       .rkey = head.other,
                                       .imm = {}};
    ring().write(order, head.size, head.id, [range = from->range] {});
}

void active_endpoint::on_arrival(std::uint32_t value, std::uint64_t bytes)
{
    if (value == plain_write || over_)
        return;
    if (const auto found = arriving_.find(value); found != arriving_.end()) {
        wanted &by = *found->second;
        arriving_.erase(found);
        if (bytes != by.completion.len) {
            ring().fail("it sends another size than it announced");
            return;
        }
        finish(by);
        complete_receives();
        return;
    }
    const auto reads = outgoing_.find(value);
    if (reads == outgoing_.end() || reads->second.completion_flags != (FI_READ | FI_RMA) ||
        bytes != reads->second.call.bytes) {
        ring().fail("it sends what nothing waits for");
        return;
    }
    complete(value);
}

} // namespace mrc::fi_provider
