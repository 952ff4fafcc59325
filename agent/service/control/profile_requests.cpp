// SPDX-License-Identifier: Apache-2.0
#include "service/control/profile_requests.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "service/control/transitions.h"

namespace mrc::service::control
{

namespace
{

template <class T>
std::optional<T> given(std::uint32_t mask, std::uint32_t bit, const T &value)
{
    return (mask & bit) != 0 ? std::optional{value} : std::nullopt;
}

session::outcome<> check_mask(std::uint32_t mask, std::uint32_t known)
{
    if ((mask & ~known) != 0)
        return std::unexpected{
            session::refusal{EINVAL, fmt::format("attribute bits {:#x}, allowed are {:#x}", mask, known)}};
    return {};
}

// A profile in INIT has its state to tell and nothing else.
session::outcome<> check_query(std::uint32_t mask, std::uint32_t known, std::uint32_t state_bits,
                               session::profile_state state)
{
    if (auto right = check_mask(mask, known); !right)
        return right;
    if (state == session::profile_state::init && (mask & ~state_bits) != 0)
        return std::unexpected{session::refusal{EINVAL, "the profile is INIT and has no attributes yet"}};
    return {};
}

session::outcome<> check_ev_mask(std::uint32_t mask)
{
    constexpr std::uint32_t both = session::ev_profile_has_evs | session::ev_profile_has_fields;
    if ((mask & both) == both)
        return std::unexpected{session::refusal{EINVAL, "EV_OP and EV_FIELDS_OP exclude each other"}};
    return check_mask(mask, session::ev_profile_attributes);
}

constexpr std::uint32_t number_of(session::profile_state state)
{
    return static_cast<std::uint32_t>(state);
}

} // namespace

controller_answer profile_requests::modify_ev_format(const session::control_request &request,
                                                     std::span<const std::byte> array)
{
    if (auto right = check_mask(request.mask, session::ev_format_attributes); !right)
        return right;
    const session::control_ev_format &asked = request.ev_format;
    ev_format_change change{.state = given(request.mask, session::ev_format_has_state, asked.state),
                            .current = given(request.mask, session::ev_format_has_current, asked.current),
                            .mode = given(request.mask, session::ev_format_has_mode, asked.mode)};
    const bool operates = (request.mask & session::ev_format_has_operation) != 0;
    if (operates && request.operation > static_cast<std::uint32_t>(session::ev_format_operation::query_fields))
        return {EINVAL, fmt::format("operation {}, allowed is 0 or 1", request.operation)};
    const bool queries =
        operates && request.operation == static_cast<std::uint32_t>(session::ev_format_operation::query_fields);
    if (operates && !queries)
        change.widths = elements_of<std::uint8_t>(array);
    controller_answer result = formats_.modify(request.id, change);
    return result.ok() && queries ? query_widths(request) : result;
}

controller_answer profile_requests::query_widths(const session::control_request &request) const
{
    const ev_format &format = formats_.find(request.id);
    if (format.state == session::profile_state::init)
        return {EINVAL, "the format is INIT and has no fields yet"};
    controller_answer result;
    std::size_t first = 0;
    std::size_t count = 0;
    if (result.take_piece(request, format.widths.size(), session::most_fields, first, count))
        result.set_array(std::span<const std::uint8_t>{format.widths}.subspan(first, count));
    return result;
}

controller_answer profile_requests::query_ev_format(const session::control_request &request) const
{
    const ev_format &format = formats_.find(request.id);
    if (auto right = check_query(request.mask, session::ev_format_attributes,
                                 session::ev_format_has_state | session::ev_format_has_current, format.state);
        !right)
        return right;
    controller_answer result;
    if ((request.mask & session::ev_format_has_operation) != 0) {
        if (request.operation != static_cast<std::uint32_t>(session::ev_format_operation::query_fields))
            return {EINVAL, "a query modifies no fields"};
        result = query_widths(request);
    }
    result.reply.ev_format = {.state = number_of(format.state),
                              .current = number_of(format.state),
                              .mode = static_cast<std::uint32_t>(format.mode),
                              .reserved = 0};
    return result;
}

controller_answer profile_requests::modify_ev_profile(const session::control_request &request,
                                                      std::span<const std::byte> array)
{
    if (auto right = check_ev_mask(request.mask); !right)
        return right;
    const session::control_ev_profile &asked = request.ev_profile;
    ev_profile_change change{.state = given(request.mask, session::ev_profile_has_state, asked.state),
                             .current = given(request.mask, session::ev_profile_has_current, asked.current),
                             .mode = given(request.mask, session::ev_profile_has_mode, asked.mode),
                             .format = given(request.mask, session::ev_profile_has_format, asked.format),
                             .count = given(request.mask, session::ev_profile_has_count, asked.count),
                             .min_active = given(request.mask, session::ev_profile_has_min_active, asked.min_active),
                             .event_mask = given(request.mask, session::ev_profile_has_event_mask, asked.event_mask)};
    const bool on_evs = (request.mask & session::ev_profile_has_evs) != 0;
    const bool on_fields = (request.mask & session::ev_profile_has_fields) != 0;
    if ((on_evs && request.operation > static_cast<std::uint32_t>(session::ev_operation::query_array)) ||
        (on_fields && request.operation > static_cast<std::uint32_t>(session::ev_fields_operation::query_fields)))
        return {EINVAL, fmt::format("operation {} does not exist", request.operation)};
    const auto operation = static_cast<session::ev_operation>(request.operation);
    const bool edits =
        on_evs && (operation == session::ev_operation::replace || operation == session::ev_operation::modify_state);
    const bool sets_fields =
        on_fields && request.operation == static_cast<std::uint32_t>(session::ev_fields_operation::modify_fields);
    if (sets_fields)
        change.fields = elements_of<mrc_ev_field>(array);
    const auto entries = edits ? elements_of<session::ev_entry>(array) : std::vector<session::ev_entry>{};
    const ev_edit_result modified =
        evs_.modify(request.id, change, edits ? std::optional{ev_edit{operation, entries}} : std::nullopt);
    controller_answer result = modified.result;
    if (result.ok() && on_evs && !edits)
        return query_evs(request, array);
    if (result.ok() && on_fields && !sets_fields)
        return query_fields(request);
    result.reply.done = modified.done;
    return result;
}

controller_answer profile_requests::query_evs(const session::control_request &request,
                                              std::span<const std::byte> array) const
{
    const ev_profile &profile = evs_.find(request.id);
    if (profile.state == session::profile_state::init)
        return {EINVAL, "the profile is INIT and has no EVs yet"};
    controller_answer result;
    if (request.operation == static_cast<std::uint32_t>(session::ev_operation::query_state)) {
        auto entries = elements_of<session::ev_entry>(array);
        for (session::ev_entry &entry : entries) {
            const auto state = evs_.state_of(request.id, entry.subject);
            if (!state) {
                result.fail({state.error().code, fmt::format("entry {}: {}", result.reply.done, state.error().text)});
                break;
            }
            entry.state = static_cast<std::uint32_t>(*state);
            ++result.reply.done;
        }
        result.set_array(std::span<const session::ev_entry>{entries}.first(result.reply.done));
        return result;
    }
    if (request.operation != static_cast<std::uint32_t>(session::ev_operation::query_array))
        return {EINVAL, "a query modifies no EVs"};
    std::size_t first = 0;
    std::size_t count = 0;
    if (!result.take_piece(request, profile.evs.size(), session::most_entries, first, count))
        return result;
    std::vector<session::ev_entry> entries;
    for (const profile_ev &known : std::span{profile.evs}.subspan(first, count))
        entries.push_back({.subject = known.ev, .replacement = {}, .state = static_cast<std::uint32_t>(known.state())});
    result.set_array(std::span<const session::ev_entry>{entries});
    return result;
}

controller_answer profile_requests::query_fields(const session::control_request &request) const
{
    const ev_profile &profile = evs_.find(request.id);
    if (profile.state == session::profile_state::init)
        return {EINVAL, "the profile is INIT and has no fields yet"};
    if (request.operation != static_cast<std::uint32_t>(session::ev_fields_operation::query_fields))
        return {EINVAL, "a query modifies no fields"};
    const auto layout = evs_.layout_of(profile);
    if (!layout)
        return session::outcome<>{std::unexpected{layout.error()}};
    controller_answer result;
    std::size_t first = 0;
    std::size_t count = 0;
    if (result.take_piece(request, layout->fields().size(), session::most_fields, first, count))
        result.set_array(std::span<const mrc_ev_field>{layout->fields()}.subspan(first, count));
    return result;
}

controller_answer profile_requests::query_ev_profile(const session::control_request &request,
                                                     std::span<const std::byte> array) const
{
    const ev_profile &profile = evs_.find(request.id);
    if (auto right = check_ev_mask(request.mask); !right)
        return right;
    if (auto right = check_query(request.mask, session::ev_profile_attributes,
                                 session::ev_profile_has_state | session::ev_profile_has_current, profile.state);
        !right)
        return right;
    controller_answer result;
    if ((request.mask & session::ev_profile_has_evs) != 0)
        result = query_evs(request, array);
    else if ((request.mask & session::ev_profile_has_fields) != 0)
        result = query_fields(request);
    result.reply.ev_profile = {.state = number_of(profile.state),
                               .current = number_of(profile.state),
                               .mode = static_cast<std::uint32_t>(profile.mode),
                               .count = static_cast<std::uint32_t>(profile.evs.size()),
                               .format = profile.format,
                               .min_active = profile.min_active.value_or(0),
                               .event_mask = profile.event_mask.value_or(0)};
    return result;
}

controller_answer profile_requests::modify_cc_profile(const session::control_request &request)
{
    if (auto right = check_mask(request.mask, session::cc_profile_attributes); !right)
        return right;
    const session::control_cc_profile &asked = request.cc_profile;
    const std::string_view name{asked.algorithm, ::strnlen(asked.algorithm, sizeof(asked.algorithm))};
    return ccs_.modify(request.id,
                       {.state = given(request.mask, session::cc_profile_has_state, asked.state),
                        .current = given(request.mask, session::cc_profile_has_current, asked.current),
                        .algorithm = given(request.mask, session::cc_profile_has_algorithm, std::string{name}),
                        .config = given(request.mask, session::cc_profile_has_config, asked.config)});
}

controller_answer profile_requests::query_cc_profile(const session::control_request &request) const
{
    const cc_profile &profile = ccs_.find(request.id);
    if (auto right = check_query(request.mask, session::cc_profile_attributes,
                                 session::cc_profile_has_state | session::cc_profile_has_current, profile.state);
        !right)
        return right;
    controller_answer result;
    session::control_cc_profile &out = result.reply.cc_profile;
    out = {.state = number_of(profile.state),
           .current = number_of(profile.state),
           .algorithm = {},
           .config = profile.config.value_or(session::nscc_values{}),
           .reserved = 0};
    if (profile.nscc)
        std::string{session::nscc_algorithm}.copy(out.algorithm, sizeof(out.algorithm) - 1);
    return result;
}

controller_answer profile_requests::list(const session::control_request &request) const
{
    std::vector<std::uint64_t> ids;
    const auto collect = [&](const auto &profiles) {
        for (const auto &[id, profile] : profiles)
            ids.push_back(id);
    };
    switch (static_cast<session::profile_list>(request.operation)) {
    case session::profile_list::ev_formats:
        collect(formats_.all());
        break;
    case session::profile_list::ev_profiles:
        collect(evs_.all());
        break;
    case session::profile_list::cc_profiles:
        collect(ccs_.all());
        break;
    default: // a number that a client wrote
        return {EINVAL, fmt::format("list {}, allowed is 0 to 2", request.operation)};
    }
    controller_answer result;
    std::size_t first = 0;
    std::size_t count = 0;
    if (result.take_piece(request, ids.size(), session::most_ids, first, count))
        result.set_array(std::span<const std::uint64_t>{ids}.subspan(first, count));
    return result;
}

} // namespace mrc::service::control
