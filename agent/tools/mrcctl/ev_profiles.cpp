// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/ev_profiles.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

json::value text_value(const std::string &text)
{
    return json::string{text};
}

json::array event_names(int mask)
{
    json::array names;
    for (const auto &[name, state] : ev_state_names)
        if ((mask & state) != 0)
            names.push_back(text_value(std::string{name}));
    return names;
}

json::array fields_of(const controller_device &device, std::uint64_t id)
{
    mrc_ctl_ev_profile_attr attributes{};
    auto &op = attributes.ev_fields_op;
    op.op = MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS;
    std::vector<mrc_ctl_ev_field> fields;
    while (::mrc_ctl_query_ev_profile(device.mrc(), id, &attributes, MRC_CTL_EV_PROFILE_EV_FIELDS_OP) != 0) {
        if (errno != E2BIG || static_cast<std::size_t>(op.field_count) <= fields.size())
            fail_call("query the fields of " + title_of(ev_profiles.name, id));
        fields.resize(static_cast<std::size_t>(op.field_count));
        op.fields = fields.data();
    }
    fields.resize(static_cast<std::size_t>(op.field_count));
    json::array rows;
    for (const mrc_ctl_ev_field &field : fields)
        rows.push_back(json::object{{"width", field.width},
                                    {"init", field.init_val},
                                    {"min", field.min_val},
                                    {"max", field.max_val},
                                    {"mask", field.mask}});
    return rows;
}

// The mask of what is asked for; the attributes are filled in.
int fill(mrc_ctl_ev_profile_attr &to, const ev_profile_attributes &from, std::vector<mrc_ctl_ev_field> &fields)
{
    int mask = 0;
    const auto put = [&mask](auto &place, const auto &value, int bit) {
        if (value) {
            place = *value;
            mask |= bit;
        }
    };
    put(to.ev_mode, from.mode, MRC_CTL_EV_PROFILE_MODE);
    put(to.ev_fmt_profile_id, from.format, MRC_CTL_EV_PROFILE_FMT_ID);
    put(to.ev_count, from.count, MRC_CTL_EV_PROFILE_COUNT);
    put(to.ev_min_active, from.min_active, MRC_CTL_EV_PROFILE_MIN_ACTIVE);
    put(to.ev_event_mask, from.events, MRC_CTL_EV_PROFILE_EVENT_MASK);
    if (!from.fields.empty()) {
        fields = from.fields;
        to.ev_fields_op = {.op = MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
                           .fields = fields.data(),
                           .field_count = static_cast<int>(fields.size())};
        mask |= MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
    }
    return mask;
}

// "entry 3: why" of a piece of the array; the row tells which one it is.
std::string without_entry(const std::string &why)
{
    return why.starts_with("entry ") && why.find(": ") != std::string::npos ? why.substr(why.find(": ") + 2) : why;
}

using entry_call = int (*)(mrc_context *, std::uint64_t, mrc_ctl_ev_profile_attr *, int);

entries_done carry_out(const controller_device &device, std::uint64_t id, entry_call call, mrc_ctl_ev_op operation,
                       std::vector<mrc_ctl_ev_op_entry> &entries)
{
    mrc_ctl_ev_profile_attr attributes{};
    attributes.ev_op = {.op = operation, .entries = entries.data(), .entry_count = static_cast<int>(entries.size())};
    const bool whole = call(device.mrc(), id, &attributes, MRC_CTL_EV_PROFILE_EV_OP) == 0;
    const int code = errno;
    const std::string why = whole ? "" : why_it_failed(code);
    const auto done = whole ? entries.size() : static_cast<std::size_t>(attributes.ev_op.entry_count);
    // Refused as a whole, or nobody is there: no entry is to blame.
    if (!whole && (code == EPERM || done >= entries.size() || (done == 0 && without_entry(why) == why)))
        throw ctl_error{fmt::format("cannot work on EVs of EV profile {}: {}", id, why)};
    entries_done result{.rows = {}, .whole = whole};
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const char *const fate = i < done ? "done" : i == done ? "failed" : "not tried";
        result.rows.push_back(
            json::object{{"ev", text_value(ev_text(entries[i].ev))},
                         {"port", entries[i].ev.port},
                         {"state", i < done ? text_value(name_of(ev_state_names, entries[i].state)) : json::value{}},
                         {"result", fate},
                         {"reason", i == done ? text_value(without_entry(why)) : json::value{}}});
    }
    return result;
}

std::vector<mrc_ctl_ev_op_entry> entries_for(std::span<const mrc_ctl_ev> evs, mrc_ctl_ev_state state)
{
    std::vector<mrc_ctl_ev_op_entry> entries;
    for (const mrc_ctl_ev &ev : evs)
        entries.push_back({.ev = ev, .ev_new = MRC_CTL_EV_UNPOPULATED, .state = state, .flags = 0});
    return entries;
}

void populate(const controller_device &device, std::uint64_t id, std::span<const mrc_ctl_ev> evs)
{
    std::vector<mrc_ctl_ev_op_entry> entries;
    for (const mrc_ctl_ev &ev : evs)
        entries.push_back({.ev = MRC_CTL_EV_UNPOPULATED, .ev_new = ev, .state = MRC_CTL_EV_GOOD, .flags = 0});
    mrc_ctl_ev_profile_attr attributes{};
    attributes.ev_op = {
        .op = MRC_CTL_EV_OP_REPLACE_EV, .entries = entries.data(), .entry_count = static_cast<int>(entries.size())};
    if (::mrc_ctl_modify_ev_profile(device.mrc(), id, &attributes, MRC_CTL_EV_PROFILE_EV_OP) == 0)
        return;
    const std::string why = without_entry(why_it_failed(errno));
    const auto at = static_cast<std::size_t>(attributes.ev_op.entry_count);
    forget(device, ev_profiles, id);
    throw ctl_error{at < evs.size() ? fmt::format("cannot put EV {} into EV profile {}: {}", ev_text(evs[at]), id, why)
                                    : fmt::format("cannot put EVs into EV profile {}: {}", id, why)};
}

} // namespace

json::object ev_profile_summary(const controller_device &device, std::uint64_t id)
{
    need_profile(device, ev_profiles, id);
    mrc_ctl_ev_profile_attr attributes{};
    if (::mrc_ctl_query_ev_profile(device.mrc(), id, &attributes,
                                   MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                       MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                       MRC_CTL_EV_PROFILE_EVENT_MASK) != 0)
        fail_call("query " + title_of(ev_profiles.name, id));
    return {{"id", id},
            {"state", text_value(name_of(profile_state_names, attributes.profile_state))},
            {"mode", text_value(name_of(ev_mode_names, attributes.ev_mode))},
            {"format", attributes.ev_fmt_profile_id},
            {"count", attributes.ev_count},
            {"min_active", attributes.ev_min_active},
            {"events", event_names(attributes.ev_event_mask)}};
}

std::vector<mrc_ctl_ev_op_entry> evs_of(const controller_device &device, std::uint64_t id)
{
    mrc_ctl_ev_profile_attr attributes{};
    auto &op = attributes.ev_op;
    op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
    std::vector<mrc_ctl_ev_op_entry> entries;
    while (::mrc_ctl_query_ev_profile(device.mrc(), id, &attributes, MRC_CTL_EV_PROFILE_EV_OP) != 0) {
        if (errno != E2BIG || static_cast<std::size_t>(op.entry_count) <= entries.size())
            fail_call("query the EVs of " + title_of(ev_profiles.name, id));
        entries.resize(static_cast<std::size_t>(op.entry_count));
        op.entries = entries.data();
    }
    entries.resize(static_cast<std::size_t>(op.entry_count));
    return entries;
}

json::array ev_profiles_of(const controller_device &device)
{
    json::array rows;
    for (const std::uint64_t id : profile_ids(device, ev_profiles.list, ev_profiles.name)) {
        json::object row = ev_profile_summary(device, id);
        const std::vector<mrc_ctl_ev_op_entry> entries = evs_of(device, id);
        for (const auto &[name, state] : ev_state_names)
            row[name] = std::ranges::count(entries, state, &mrc_ctl_ev_op_entry::state);
        rows.push_back(std::move(row));
    }
    return rows;
}

json::object ev_profile_of(const controller_device &device, std::uint64_t id)
{
    json::object view = ev_profile_summary(device, id);
    view["fields"] = fields_of(device, id);
    json::array rows;
    for (const mrc_ctl_ev_op_entry &entry : evs_of(device, id))
        rows.push_back(json::object{{"ev", text_value(ev_text(entry.ev))},
                                    {"port", entry.ev.port},
                                    {"state", text_value(name_of(ev_state_names, entry.state))}});
    view["evs"] = std::move(rows);
    return view;
}

void create_ev_profile(const controller_device &device, std::uint64_t id, const ev_profile_attributes &attributes,
                       std::span<const mrc_ctl_ev> evs)
{
    need_no_profile(device, ev_profiles, id);
    mrc_ctl_ev_profile_attr wanted{};
    std::vector<mrc_ctl_ev_field> fields;
    const int mask = fill(wanted, attributes, fields);
    wanted.profile_state = MRC_CTL_PROFILE_OFFLINE;
    wanted.cur_profile_state = MRC_CTL_PROFILE_INIT;
    if (::mrc_ctl_modify_ev_profile(device.mrc(), id, &wanted, mask | profile_state_bit | profile_current_bit) != 0)
        fail_call("create " + title_of(ev_profiles.name, id));
    if (!evs.empty())
        populate(device, id, evs);
}

void set_ev_profile(const controller_device &device, std::uint64_t id, const ev_profile_attributes &attributes)
{
    need_profile(device, ev_profiles, id);
    mrc_ctl_ev_profile_attr wanted{};
    std::vector<mrc_ctl_ev_field> fields;
    const int mask = fill(wanted, attributes, fields);
    if (::mrc_ctl_modify_ev_profile(device.mrc(), id, &wanted, mask) != 0)
        fail_call("change " + title_of(ev_profiles.name, id));
}

entries_done judge_evs(const controller_device &device, std::uint64_t id, std::span<const mrc_ctl_ev> evs,
                       mrc_ctl_ev_state state)
{
    need_profile(device, ev_profiles, id);
    auto entries = entries_for(evs, state);
    return carry_out(device, id, ::mrc_ctl_modify_ev_profile, MRC_CTL_EV_OP_MODIFY_EV_STATE, entries);
}

entries_done replace_evs(const controller_device &device, std::uint64_t id,
                         std::span<const std::pair<mrc_ctl_ev, mrc_ctl_ev>> evs, const replacement_choice &choice)
{
    need_profile(device, ev_profiles, id);
    std::vector<mrc_ctl_ev_op_entry> entries;
    for (const auto &[before, after] : evs)
        entries.push_back({.ev = before,
                           .ev_new = after,
                           .state = choice.denied ? MRC_CTL_EV_DENIED : MRC_CTL_EV_GOOD,
                           .flags = choice.all_copies ? std::uint32_t{MRC_CTL_EV_OP_F_ALL_COPIES} : 0});
    entries_done result = carry_out(device, id, ::mrc_ctl_modify_ev_profile, MRC_CTL_EV_OP_REPLACE_EV, entries);
    for (std::size_t i = 0; i < evs.size(); ++i)
        result.rows[i].as_object()["new_ev"] = text_value(ev_text(evs[i].second));
    return result;
}

entries_done query_evs(const controller_device &device, std::uint64_t id, std::span<const mrc_ctl_ev> evs)
{
    need_profile(device, ev_profiles, id);
    auto entries = entries_for(evs, MRC_CTL_EV_UNKNOWN);
    return carry_out(device, id, ::mrc_ctl_query_ev_profile, MRC_CTL_EV_OP_QUERY_EV_STATE, entries);
}

} // namespace mrc::ctl
