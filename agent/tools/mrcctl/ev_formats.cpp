// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/ev_formats.h"

namespace mrc::ctl
{

namespace json = boost::json;

json::object ev_format_of(const controller_device &device, std::uint64_t id)
{
    need_profile(device, ev_formats, id);
    mrc_ctl_ev_fmt_profile_attr attributes{};
    auto &op = attributes.ev_fmt_op;
    op.op = MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
    std::vector<mrc_ctl_ev_fmt_field> fields;
    while (::mrc_ctl_query_ev_fmt_profile(device.mrc(), id, &attributes,
                                          MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
                                              MRC_CTL_EV_FMT_PROFILE_OP) != 0) {
        if (errno != E2BIG || static_cast<std::size_t>(op.fmt_field_count) <= fields.size())
            fail_call("query " + title_of(ev_formats.name, id));
        fields.resize(static_cast<std::size_t>(op.fmt_field_count));
        op.fmt_fields = fields.data();
    }
    json::array widths;
    for (const mrc_ctl_ev_fmt_field &field : fields)
        widths.push_back(unsigned{field.width});
    return {{"id", id},
            {"state", json::string{name_of(profile_state_names, attributes.profile_state)}},
            {"mode", json::string{name_of(ev_format_mode_names, attributes.ev_fmt_mode)}},
            {"widths", std::move(widths)}};
}

json::array ev_formats_of(const controller_device &device)
{
    json::array rows;
    for (const std::uint64_t id : profile_ids(device, ev_formats.list, ev_formats.name))
        rows.push_back(ev_format_of(device, id));
    return rows;
}

void create_ev_format(const controller_device &device, std::uint64_t id, mrc_ctl_ev_fmt_mode mode,
                      const std::vector<unsigned> &widths)
{
    need_no_profile(device, ev_formats, id);
    std::vector<mrc_ctl_ev_fmt_field> fields;
    fields.reserve(widths.size());
    for (const unsigned width : widths)
        fields.push_back({.width = static_cast<std::uint8_t>(width)});
    mrc_ctl_ev_fmt_profile_attr attributes{};
    attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attributes.cur_profile_state = MRC_CTL_PROFILE_INIT;
    attributes.ev_fmt_mode = mode;
    attributes.ev_fmt_op = {.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS,
                            .fmt_fields = fields.data(),
                            .fmt_field_count = static_cast<int>(fields.size())};
    if (::mrc_ctl_modify_ev_fmt_profile(device.mrc(), id, &attributes,
                                        profile_state_bit | profile_current_bit | MRC_CTL_EV_FMT_PROFILE_MODE |
                                            MRC_CTL_EV_FMT_PROFILE_OP) != 0)
        fail_call("create " + title_of(ev_formats.name, id));
}

} // namespace mrc::ctl
