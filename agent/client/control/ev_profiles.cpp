// SPDX-License-Identifier: Apache-2.0
// mrc_ctl.h: EV profiles. A call of the library is as many requests as its array has pieces of most_entries.
#include <algorithm>
#include <cerrno>

#include "client/boundary.h"
#include "client/control/requests.h"
#include "client/export.h"

using namespace mrc::client;
using mrc::session::control_kind;

namespace
{

static_assert(sizeof(mrc_ctl_ev_op_entry) == sizeof(mrc::session::ev_entry));
static_assert(offsetof(mrc_ctl_ev_op_entry, state) == offsetof(mrc::session::ev_entry, state));
static_assert(sizeof(mrc_ctl_ev_field) == sizeof(mrc_ev_field));

constexpr std::uint32_t array_bits = MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP;

struct profile_call {
    mrc::session::control_kind kind;
    const mrc_context *context;
    std::uint64_t id;
    mrc_ctl_ev_profile_attr *attr; // null: the mask is empty
    std::uint32_t mask;

    [[nodiscard]] bool asks(std::uint32_t bits) const { return (mask & bits) != 0; }
    [[nodiscard]] mrc::session::control_request request(std::uint32_t of_mask) const
    {
        auto made = control_request_of(kind, id, of_mask);
        if (attr != nullptr)
            made.ev_profile = {.state = static_cast<std::uint32_t>(attr->profile_state),
                               .current = static_cast<std::uint32_t>(attr->cur_profile_state),
                               .mode = static_cast<std::uint32_t>(attr->ev_mode),
                               .count = attr->ev_count,
                               .format = attr->ev_fmt_profile_id,
                               .min_active = attr->ev_min_active,
                               .event_mask = static_cast<std::uint32_t>(attr->ev_event_mask)};
        return made;
    }
};

// Attributes go with the first piece of an array, but for a way to ONLINE, which needs what the pieces bring.
std::uint32_t mask_of_piece(const profile_call &call, bool first, bool last)
{
    const bool goes_online = call.asks(MRC_CTL_EV_PROFILE_STATE) && call.attr->profile_state == MRC_CTL_PROFILE_ONLINE;
    const std::uint32_t at_end = goes_online ? std::uint32_t{MRC_CTL_EV_PROFILE_STATE} : 0;
    return (first ? call.mask & ~at_end : call.mask & array_bits) | (last ? at_end : 0);
}

void store_attributes(const profile_call &call, const mrc::session::control_ev_profile &reported)
{
    mrc_ctl_ev_profile_attr &attr = *call.attr;
    if (call.asks(MRC_CTL_EV_PROFILE_STATE))
        attr.profile_state = static_cast<mrc_ctl_profile_state>(reported.state);
    if (call.asks(MRC_CTL_EV_PROFILE_CUR_STATE))
        attr.cur_profile_state = static_cast<mrc_ctl_profile_state>(reported.current);
    if (call.asks(MRC_CTL_EV_PROFILE_MODE))
        attr.ev_mode = static_cast<mrc_ctl_ev_mode>(reported.mode);
    if (call.asks(MRC_CTL_EV_PROFILE_FMT_ID))
        attr.ev_fmt_profile_id = reported.format;
    if (call.asks(MRC_CTL_EV_PROFILE_COUNT))
        attr.ev_count = reported.count;
    if (call.asks(MRC_CTL_EV_PROFILE_MIN_ACTIVE))
        attr.ev_min_active = reported.min_active;
    if (call.asks(MRC_CTL_EV_PROFILE_EVENT_MASK))
        attr.ev_event_mask = static_cast<int>(reported.event_mask);
}

// Entries that the daemon changes, or whose states it tells, in order until one fails.
result<void> entries_done(const profile_call &call)
{
    auto &op = call.attr->ev_op;
    const bool tells = op.op == MRC_CTL_EV_OP_QUERY_EV_STATE;
    const std::span entries{op.entries, static_cast<std::size_t>(op.entry_count)};
    std::size_t done = 0;
    result<void> outcome;
    do {
        const std::span piece =
            entries.subspan(done, std::min<std::size_t>(mrc::session::most_entries, entries.size() - done));
        auto request = call.request(mask_of_piece(call, done == 0, done + piece.size() == entries.size()));
        request.operation = static_cast<std::uint32_t>(op.op);
        request.count = static_cast<std::uint32_t>(piece.size());
        request.capacity = static_cast<std::uint32_t>(entries.size());
        const auto answer =
            ask(*call.context->daemon, request, std::as_bytes(piece), tells ? sizeof(mrc::session::ev_entry) : 0);
        if (!answer)
            return std::unexpected{answer.error()};
        for (std::size_t i = 0; tells && i < std::min<std::size_t>(answer->reply.count, piece.size()); ++i)
            piece[i].state = static_cast<mrc_ctl_ev_state>(answer->element<mrc::session::ev_entry>(i).state);
        if (tells && done == 0 && call.kind == mrc::session::control_kind::query_ev_profile && answer->reply.error == 0)
            store_attributes(call, answer->reply.ev_profile);
        outcome = outcome_of(*answer);
        done += std::min<std::size_t>(outcome ? piece.size() : answer->reply.done, piece.size());
    } while (outcome && done < entries.size());
    op.entry_count = static_cast<int>(done);
    return outcome;
}

// Arrays that the daemon fills. store(index, answer, i): element i of the answer is the array's at `index`.
template <typename Store>
result<void> array_filled(const profile_call &call, std::uint32_t operation, int &count, std::size_t element,
                          const Store &store)
{
    std::uint32_t first = 0;
    std::uint32_t total = 0;
    do {
        auto request = call.request(first == 0 ? call.mask : call.mask & array_bits);
        request.operation = operation;
        request.capacity = static_cast<std::uint32_t>(count);
        request.first = first;
        const auto answer = ask(*call.context->daemon, request, {}, element);
        if (!answer)
            return std::unexpected{answer.error()};
        total = answer->reply.total;
        if (answer->reply.error == E2BIG)
            count = static_cast<int>(total);
        if (auto done = outcome_of(*answer); !done)
            return done;
        if (total > static_cast<std::uint32_t>(count) || answer->reply.count > total - first ||
            (answer->reply.count == 0 && first < total))
            return refused(EIO, "a reply with another number of elements than it says");
        if (first == 0 && call.kind == mrc::session::control_kind::query_ev_profile)
            store_attributes(call, answer->reply.ev_profile);
        for (std::uint32_t i = 0; i < answer->reply.count; ++i)
            store(first + i, *answer, i);
        first += answer->reply.count;
    } while (first < total);
    count = static_cast<int>(total);
    return {};
}

result<void> evs_asked(const profile_call &call)
{
    auto &op = call.attr->ev_op;
    if (op.entry_count < 0 || (op.entry_count != 0 && op.entries == nullptr))
        return refused(EINVAL, "no entries");
    const auto operation = static_cast<std::uint32_t>(op.op);
    if (op.op != MRC_CTL_EV_OP_QUERY_EV_ARRAY)
        return entries_done(call);
    return array_filled(call, operation, op.entry_count, sizeof(mrc::session::ev_entry),
                        [&](std::size_t at, const control_answer &answer, std::size_t i) {
                            const auto entry = answer.element<mrc::session::ev_entry>(i);
                            std::memcpy(&op.entries[at].ev, &entry.subject, sizeof(mrc_ctl_ev));
                            op.entries[at].state = static_cast<mrc_ctl_ev_state>(entry.state);
                        });
}

result<void> fields_asked(const profile_call &call)
{
    auto &op = call.attr->ev_fields_op;
    if (op.field_count < 0 || (op.field_count != 0 && op.fields == nullptr))
        return refused(EINVAL, "no fields");
    const auto operation = static_cast<std::uint32_t>(op.op);
    if (op.op == MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS)
        return array_filled(call, operation, op.field_count, sizeof(mrc_ev_field),
                            [&](std::size_t at, const control_answer &answer, std::size_t i) {
                                op.fields[at] = answer.element<mrc_ctl_ev_field>(i);
                            });
    if (static_cast<std::uint32_t>(op.field_count) > mrc::session::most_fields)
        return refused(E2BIG, "more fields than any profile has");
    auto request = call.request(call.mask);
    request.operation = operation;
    request.count = static_cast<std::uint32_t>(op.field_count);
    const auto answer = ask(*call.context->daemon, request, std::as_bytes(std::span{op.fields, request.count}));
    return answer ? outcome_of(*answer) : std::unexpected{answer.error()};
}

result<void> profile_asked(mrc::session::control_kind kind, const mrc_context *context, std::uint64_t id,
                           mrc_ctl_ev_profile_attr *attr, int mask)
{
    if (auto right = check_context(context); !right)
        return right;
    if (attr == nullptr && mask != 0)
        return refused(EINVAL, "no attributes");
    const profile_call call{kind, context, id, attr, without_vendor(mask)};
    if ((call.mask & array_bits) == array_bits)
        return refused(EINVAL, "EV_OP and EV_FIELDS_OP exclude each other");
    if (kind == control_kind::query_ev_profile && (mask & MRC_CTL_EV_PROFILE_VENDOR_CFG) != 0)
        std::ranges::fill(attr->vendor_cfg, std::uint8_t{0});
    if (call.asks(MRC_CTL_EV_PROFILE_EV_OP))
        return evs_asked(call);
    if (call.asks(MRC_CTL_EV_PROFILE_EV_FIELDS_OP))
        return fields_asked(call);
    const auto answer = ask(*context->daemon, call.request(call.mask));
    if (!answer)
        return std::unexpected{answer.error()};
    if (auto done = outcome_of(*answer); !done)
        return done;
    if (kind == control_kind::query_ev_profile && attr != nullptr)
        store_attributes(call, answer->reply.ev_profile);
    return {};
}

} // namespace

extern "C" MRC_EXPORT int mrc_ctl_modify_ev_profile(mrc_context *mrc_ctx, uint64_t ev_profile_id,
                                                    mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
    return minus_one_of([&] {
        return profile_asked(mrc::session::control_kind::modify_ev_profile, mrc_ctx, ev_profile_id, attr, attr_mask);
    });
}

extern "C" MRC_EXPORT int mrc_ctl_query_ev_profile(mrc_context *mrc_ctx, uint64_t ev_profile_id,
                                                   mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
    return minus_one_of([&] {
        return profile_asked(mrc::session::control_kind::query_ev_profile, mrc_ctx, ev_profile_id, attr, attr_mask);
    });
}
