// SPDX-License-Identifier: Apache-2.0
// mrc_ctl.h: EV format profiles and CC profiles.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "client/boundary.h"
#include "client/control/requests.h"
#include "client/export.h"

using namespace mrc::client;
using mrc::session::control_kind;

namespace
{

static_assert(sizeof(mrc_ctl_ev_fmt_field) == sizeof(std::uint8_t));
static_assert(sizeof(mrc_ctl_cc_nscc_cfg) == sizeof(mrc::session::nscc_values));

result<void> store_widths(const control_answer &answer, mrc_ctl_ev_fmt_profile_attr &attr)
{
    auto &op = attr.ev_fmt_op;
    const bool too_long = answer.reply.error == E2BIG;
    if (too_long || answer.reply.error == 0)
        op.fmt_field_count = static_cast<int>(too_long ? answer.reply.total : answer.reply.count);
    if (auto done = outcome_of(answer); !done)
        return done;
    for (std::size_t i = 0; i < answer.reply.count; ++i)
        op.fmt_fields[i].width = answer.element<std::uint8_t>(i);
    return {};
}

result<control_answer> ask_about_format(mrc::session::control_kind kind, const mrc_context *context, std::uint64_t id,
                                        const mrc_ctl_ev_fmt_profile_attr *attr, int mask)
{
    auto request = control_request_of(kind, id, without_vendor(mask));
    std::span<const std::byte> array;
    if ((mask & MRC_CTL_EV_FMT_PROFILE_OP) != 0) {
        const auto &op = attr->ev_fmt_op;
        if (op.fmt_field_count < 0 || (op.fmt_field_count != 0 && op.fmt_fields == nullptr))
            return refused(EINVAL, "no fields");
        request.operation = static_cast<std::uint32_t>(op.op);
        request.capacity = static_cast<std::uint32_t>(op.fmt_field_count);
        if (kind == control_kind::modify_ev_format && op.op == MRC_CTL_EV_FMT_OP_MODIFY_FIELDS) {
            if (request.capacity > mrc::session::most_fields)
                return refused(E2BIG, "more fields than any format has");
            request.count = request.capacity;
            array = std::as_bytes(std::span{op.fmt_fields, request.count});
        }
    }
    if (attr != nullptr)
        request.ev_format = {.state = static_cast<std::uint32_t>(attr->profile_state),
                             .current = static_cast<std::uint32_t>(attr->cur_profile_state),
                             .mode = static_cast<std::uint32_t>(attr->ev_fmt_mode),
                             .reserved = 0};
    return ask(*context->daemon, request, array, sizeof(std::uint8_t));
}

result<void> format_asked(mrc::session::control_kind kind, const mrc_context *context, std::uint64_t id,
                          mrc_ctl_ev_fmt_profile_attr *attr, int mask)
{
    if (auto right = check_context(context); !right)
        return right;
    if (attr == nullptr && mask != 0)
        return refused(EINVAL, "no attributes");
    const auto answer = ask_about_format(kind, context, id, attr, mask);
    if (!answer)
        return std::unexpected{answer.error()};
    const bool widths = (mask & MRC_CTL_EV_FMT_PROFILE_OP) != 0 && attr->ev_fmt_op.op == MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
    if (auto done = widths ? store_widths(*answer, *attr) : outcome_of(*answer); !done)
        return done;
    if (kind == control_kind::modify_ev_format)
        return {};
    const auto &reported = answer->reply.ev_format;
    if ((mask & MRC_CTL_EV_FMT_PROFILE_STATE) != 0)
        attr->profile_state = static_cast<mrc_ctl_profile_state>(reported.state);
    if ((mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE) != 0)
        attr->cur_profile_state = static_cast<mrc_ctl_profile_state>(reported.current);
    if ((mask & MRC_CTL_EV_FMT_PROFILE_MODE) != 0)
        attr->ev_fmt_mode = static_cast<mrc_ctl_ev_fmt_mode>(reported.mode);
    if ((mask & MRC_CTL_EV_FMT_VENDOR_CFG) != 0)
        std::ranges::fill(attr->vendor_cfg, std::uint8_t{0});
    return {};
}

// What `algorithm` and `cc_config` point at is copied here.
result<void> fill(mrc::session::control_request &request, const mrc_ctl_cc_profile_attr &attr, int mask)
{
    auto &to = request.cc_profile;
    to.state = static_cast<std::uint32_t>(attr.profile_state);
    to.current = static_cast<std::uint32_t>(attr.cur_profile_state);
    if ((mask & MRC_CTL_CC_PROFILE_ALGORITHM) != 0 && attr.algorithm != nullptr) {
        const std::size_t length = ::strnlen(attr.algorithm, sizeof(to.algorithm));
        if (length == 0 || length == sizeof(to.algorithm))
            return refused(EINVAL, "no such algorithm"); // the empty name would mean none
        std::memcpy(to.algorithm, attr.algorithm, length);
    }
    if ((mask & MRC_CTL_CC_PROFILE_CONFIG) != 0) {
        if (attr.cc_config == nullptr)
            return refused(EINVAL, "no configuration");
        std::memcpy(static_cast<void *>(&to.config), attr.cc_config, sizeof(to.config));
        std::ranges::fill(to.config.reserved, std::uint8_t{0});
        std::ranges::fill(to.config.reserved_tail, std::uint8_t{0});
    }
    return {};
}

result<void> cc_modified(const mrc_context *context, std::uint64_t id, const mrc_ctl_cc_profile_attr *attr, int mask)
{
    if (auto right = check_context(context); !right)
        return right;
    if (attr == nullptr && mask != 0)
        return refused(EINVAL, "no attributes");
    auto request = control_request_of(mrc::session::control_kind::modify_cc_profile, id, without_vendor(mask));
    if (attr != nullptr)
        if (auto filled = fill(request, *attr, mask); !filled)
            return filled;
    const auto answer = ask(*context->daemon, request);
    return answer ? outcome_of(*answer) : std::unexpected{answer.error()};
}

result<void> cc_queried(mrc_context *context, std::uint64_t id, mrc_ctl_cc_profile_attr *attr, int mask)
{
    if (auto right = check_context(context); !right)
        return right;
    if (attr == nullptr && mask != 0)
        return refused(EINVAL, "no attributes");
    const auto answer = ask(*context->daemon,
                            control_request_of(mrc::session::control_kind::query_cc_profile, id, without_vendor(mask)));
    if (!answer)
        return std::unexpected{answer.error()};
    if (auto done = outcome_of(*answer); !done)
        return done;
    const auto &reported = answer->reply.cc_profile;
    if ((mask & MRC_CTL_CC_PROFILE_STATE) != 0)
        attr->profile_state = static_cast<mrc_ctl_profile_state>(reported.state);
    if ((mask & MRC_CTL_CC_PROFILE_CUR_STATE) != 0)
        attr->cur_profile_state = static_cast<mrc_ctl_profile_state>(reported.current);
    if ((mask & MRC_CTL_CC_PROFILE_ALGORITHM) != 0)
        attr->algorithm = reported.algorithm[0] != '\0' ? mrc::session::nscc_algorithm : nullptr;
    if ((mask & MRC_CTL_CC_PROFILE_CONFIG) != 0) {
        const std::scoped_lock lock{context->lock};
        mrc_ctl_cc_nscc_cfg &kept = context->cc_configs[id];
        std::memcpy(&kept, &reported.config, sizeof(kept));
        attr->cc_config = reported.algorithm[0] != '\0' ? &kept : nullptr;
    }
    if ((mask & MRC_CTL_CC_PROFILE_VENDOR_CFG) != 0)
        std::ranges::fill(attr->vendor_cfg, std::uint8_t{0});
    return {};
}

} // namespace

extern "C" MRC_EXPORT int mrc_ctl_modify_ev_fmt_profile(mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
                                                        mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask)
{
    return minus_one_of([&] {
        return format_asked(mrc::session::control_kind::modify_ev_format, mrc_ctx, ev_fmt_profile_id, attr, attr_mask);
    });
}

extern "C" MRC_EXPORT int mrc_ctl_query_ev_fmt_profile(mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
                                                       mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask)
{
    return minus_one_of([&] {
        return format_asked(mrc::session::control_kind::query_ev_format, mrc_ctx, ev_fmt_profile_id, attr, attr_mask);
    });
}

extern "C" MRC_EXPORT int mrc_ctl_modify_cc_profile(mrc_context *mrc_ctx, uint64_t cc_profile_id,
                                                    mrc_ctl_cc_profile_attr *attr, int attr_mask)
{
    return minus_one_of([&] { return cc_modified(mrc_ctx, cc_profile_id, attr, attr_mask); });
}

extern "C" MRC_EXPORT int mrc_ctl_query_cc_profile(mrc_context *mrc_ctx, uint64_t cc_profile_id,
                                                   mrc_ctl_cc_profile_attr *attr, int attr_mask)
{
    return minus_one_of([&] { return cc_queried(mrc_ctx, cc_profile_id, attr, attr_mask); });
}
