// SPDX-License-Identifier: Apache-2.0
// Transfers that the program asks for, with the domain's lock held once the program's calls have taken it.
#include <algorithm>
#include <cerrno>
#include <memory>

#include <rdma/fi_errno.h>

#include "fi_provider/active_endpoint.h"
#include "fi_provider/info.h"
#include "messaging/immediate.h"

namespace mrc::fi_provider
{

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

std::uint32_t active_endpoint::begin(const transfer_call &call, std::uint64_t completion_flags, awaited next)
{
    const std::uint32_t id = next_id();
    outgoing_.emplace(id, outgoing{.call = call, .completion_flags = completion_flags, .next = next, .range = {}});
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
    if (error != 0) {
        fi_cq_err_entry failed{};
        failed.op_context = call.context;
        failed.flags = flags;
        failed.err = failed.prov_errno = error;
        transmitted_->add_failure(failed);
    } else if ((call.flags & FI_COMPLETION) != 0 || (!transmits_selected_ && !call.silent)) {
        transmitted_->add(
            {.op_context = call.context, .flags = flags, .len = call.bytes, .buf = nullptr, .data = 0, .tag = 0});
    }
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
    const std::uint32_t id = begin(call, FI_SEND | FI_MSG, fits ? awaited::delivery : awaited::go);
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
    const bool tells = (call.flags & FI_REMOTE_CQ_DATA) != 0;
    if (tells && !untaken_credit_.may_send())
        return -FI_EAGAIN;
    const std::uint32_t id = begin(call, FI_WRITE | FI_RMA);
    if (call.key >= first_unwritable_key) {
        complete(id, FI_EACCES);
        return 0;
    }
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
    if (!tells)
        return 0;
    untaken_credit_.on_sent();
    ring().send(
        transfer_head{.kind = transfer_kind::written, .has_data = true, .size = call.bytes, .data = call.remote_data}
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
    const std::uint32_t id = begin(call, FI_READ | FI_RMA, awaited::data);
    const std::uint32_t rkey = target->rkey;
    outgoing_.at(id).range = std::move(target); // before the connection may fail by what follows
    tell({.kind = transfer_kind::read,
          .id = id,
          .size = call.bytes,
          .data = reinterpret_cast<std::uintptr_t>(call.data),
          .address = call.address,
          .key = call.key,
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

} // namespace mrc::fi_provider
