// SPDX-License-Identifier: Apache-2.0
// What comes from the far end, with the domain's lock held. It may be anybody's: each message is checked against what
// this end knows, and one that is wrong ends the connection.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <rdma/fi_errno.h>

#include "fi_provider/active_endpoint.h"
#include "fi_provider/info.h"

namespace mrc::fi_provider
{

namespace
{

// The far end has as many transfers under way at the most; it may take an answer before this end learns that it has.
constexpr std::uint32_t most_answers = 2 * most_transfers;

constexpr std::uint64_t data_flag(bool there)
{
    return there ? FI_REMOTE_CQ_DATA : 0;
}

} // namespace

// A send of the far end has its receive.
void active_endpoint::take(wanted &by, const transfer_head &head, std::span<const std::byte> bytes)
{
    by.taken = true;
    by.completion.flags = FI_RECV | FI_MSG | data_flag(head.has_data);
    by.completion.data = head.data;
    by.completion.len = std::min<std::size_t>(head.size, by.call.bytes);
    by.completion.olen = head.size - by.completion.len;
    return_untaken(1);
    if (over_)
        return; // the connection failed by it: all receives have ended
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
        answer({.kind = transfer_kind::no_go, .id = head.id});
        if (over_)
            return;
        by.completion.len = 0;
        finish(by, error);
        complete_receives();
        return;
    }
    const std::uint32_t arrival = next_id();
    arriving_.emplace(arrival, &by);
    answer({.kind = transfer_kind::go,
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
        if (head->kind == transfer_kind::announce &&
            head->size + transfer_head::encoded_bytes <= ring().longest_message()) {
            ring().fail("it announces what fits into a message");
            return;
        }
        const auto free = std::ranges::find(wanted_, false, &wanted::taken);
        if (free != wanted_.end())
            take(*free, *head, bytes);
        else if (untaken_.size() + unread_writes_ < most_untaken)
            untaken_.push_back({.head = *head, .bytes = {bytes.begin(), bytes.end()}});
        else
            ring().fail("it sends more than there is credit for");
        return;
    }
    case transfer_kind::go:
        let_go(*head);
        return;
    case transfer_kind::no_go:
        if (answered_by(*head, awaited::go) != nullptr)
            complete(head->id);
        return;
    case transfer_kind::credit:
        if (!untaken_credit_.on_credit(head->id))
            ring().fail("it takes more than was sent");
        return;
    case transfer_kind::written:
        written(*head);
        return;
    case transfer_kind::read:
        give(*head);
        return;
    case transfer_kind::unreadable:
        if (answered_by(*head, awaited::data) != nullptr)
            complete(head->id, FI_EACCES);
        return;
    }
}

// The transfer that an answer names. Null: none waits for such an answer, and the connection has failed by it.
active_endpoint::outgoing *active_endpoint::answered_by(const transfer_head &head, awaited what)
{
    const auto found = outgoing_.find(head.id);
    if (found != outgoing_.end() && found->second.next == what)
        return &found->second;
    ring().fail("it answers what was not asked");
    return nullptr;
}

// A WRITE of the far end has brought data for a completion.
void active_endpoint::written(const transfer_head &head)
{
    if (untaken_.size() + unread_writes_ >= most_untaken) {
        ring().fail("it sends more than there is credit for");
        return;
    }
    ++unread_writes_;
    received_->add({.op_context = nullptr,
                    .flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
                    .len = head.size,
                    .buf = nullptr,
                    .data = head.data,
                    .tag = 0},
                   write_reader_);
}

void active_endpoint::unread_write::on_read()
{
    const auto held = in.endpoint.lock();
    if (of == nullptr || of->over_)
        return;
    --of->unread_writes_;
    of->return_untaken(1);
}

void active_endpoint::return_untaken(std::uint32_t count)
{
    untaken_credit_.on_consumed(count);
    if (const std::uint32_t due = untaken_credit_.due(); due > 0) {
        untaken_credit_.on_returned(due);
        answer({.kind = transfer_kind::credit, .id = due});
    }
}

// False, and the connection has failed: the far end asks, and takes no answers.
bool active_endpoint::may_answer()
{
    if (++answers_ <= most_answers)
        return true;
    ring().fail("it takes no answers");
    return false;
}

void active_endpoint::answer(const transfer_head &head)
{
    if (may_answer())
        ring().send(head.encode(), {}, [this] { --answers_; });
}

// The far end has said where an announced send goes.
void active_endpoint::let_go(const transfer_head &head)
{
    outgoing *const announced = answered_by(head, awaited::go);
    if (announced == nullptr)
        return;
    outgoing &one = *announced;
    one.next = awaited::delivery;
    const messaging::write_order order{.source = reinterpret_cast<std::uintptr_t>(one.call.data),
                                       .bytes = 0,
                                       .lkey = one.range->lkey,
                                       .target = head.address,
                                       .rkey = static_cast<std::uint32_t>(head.key),
                                       .imm = {}};
    ring().write(order, one.call.bytes, head.other, [this, id = head.id] { complete(id); });
}

// The far end reads memory of this one.
void active_endpoint::give(const transfer_head &head)
{
    messaging::held_range from;
    if (head.size > 0 && in_.readable(head.address, head.size, head.key))
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that the program has registered
        from = region(reinterpret_cast<const void *>(head.address), head.size, messaging::region_use::source);
    if (!from) {
        answer({.kind = transfer_kind::unreadable, .id = head.id});
        return;
    }
    if (!may_answer())
        return;
    const messaging::write_order order{
        .source = head.address, .bytes = 0, .lkey = from->lkey, .target = head.data, .rkey = head.other, .imm = {}};
    ring().write(order, head.size, head.id, [this, from] { --answers_; });
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
    if (reads == outgoing_.end() || reads->second.next != awaited::data || bytes != reads->second.call.bytes) {
        ring().fail("it sends what nothing waits for");
        return;
    }
    complete(value);
}

} // namespace mrc::fi_provider
