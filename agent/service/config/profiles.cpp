// SPDX-License-Identifier: Apache-2.0
#include "service/config/profiles.h"

#include <algorithm>
#include <cerrno>

#include "protocol/packet_number.h"
#include "service/fabric_rules.h"
#include <fmt/format.h>

namespace mrc::service
{

namespace
{

using session::profile_state;
using result = std::expected<void, config_error>;

constexpr std::uint32_t usual_payload = 3072;    // to check constants by: which packets fit is known with the ports
constexpr std::uint32_t unmeasured_rtt_us = 200; // as long as transport.base_rtt_us = "auto" has measured nothing

constexpr std::string_view ev_profile_key = "ev_profile";
constexpr std::string_view cc_profile_key = "cc_profile";

constexpr auto offline = static_cast<std::uint32_t>(profile_state::offline);
constexpr auto online = static_cast<std::uint32_t>(profile_state::online);

// Names the option, or where it was not given the profile's id, which always is.
std::unexpected<config_error> refuse(const daemon_config &config, std::string_view table, std::size_t row,
                                     std::string_view key, const session::refusal &why)
{
    const std::string name = fmt::format("{}[{}].{}", table, row, key);
    const std::string id = fmt::format("{}[{}].id", table, row);
    return std::unexpected{config.origin.error_at(config.origin.has(name) ? name : id, why.text)};
}

template <class Rows>
result check_ids(const daemon_config &config, std::string_view table, const Rows &rows)
{
    for (std::size_t row = 0; row < rows.size(); ++row)
        for (std::size_t other = 0; other < row; ++other)
            if (rows[row].id == rows[other].id)
                return refuse(config, table, row, "id",
                              {0, fmt::format("found {}, which {}[{}].id has already; allowed is an id of its own",
                                              rows[row].id, table, other)});
    return {};
}

session::ev_mode mode_of(ev_profile_mode mode)
{
    switch (mode) {
    case ev_profile_mode::automatic:
        return session::ev_mode::automatic;
    case ev_profile_mode::listed:
        return session::ev_mode::listed;
    case ev_profile_mode::generated:
        return session::ev_mode::generated;
    }
    return session::ev_mode::automatic;
}

// As the built-in format has it: 32 bits that are the EV in the packet.
session::ev_value ev_of(std::int64_t number)
{
    const auto value = static_cast<std::uint32_t>(number);
    session::ev_value ev;
    for (unsigned byte = 0; byte < sizeof(value); ++byte)
        ev.bits[byte] = static_cast<std::uint8_t>(value >> (24 - 8 * byte));
    ev.port = static_cast<std::uint8_t>(mrc_ev_plane(value) + 1);
    return ev;
}

std::optional<std::vector<mrc_ev_field>> fields_of(const ev_profile_options &options)
{
    if (options.mode != ev_profile_mode::generated)
        return std::nullopt;
    std::vector<mrc_ev_field> fields;
    for (const std::vector<std::int64_t> &row : options.fields) {
        const auto column = [&](std::size_t index) { return static_cast<std::uint32_t>(row.at(index)); };
        fields.push_back(
            {.width = column(0), .init = column(1), .min = column(2), .max = column(3), .mask = column(4)});
    }
    return fields;
}

// Of generated EVs without a count: every combination.
std::uint32_t count_of(const ev_profile_options &options)
{
    if (options.count)
        return *options.count;
    if (options.mode == ev_profile_mode::listed)
        return static_cast<std::uint32_t>(options.evs.size());
    if (options.mode == ev_profile_mode::automatic)
        return 0;
    std::uint64_t combinations = 1;
    for (const std::vector<std::int64_t> &row : options.fields)
        combinations = std::min<std::uint64_t>(
            UINT32_MAX,
            combinations * (row.at(3) < row.at(2) ? 0 : static_cast<std::uint64_t>(row.at(3) - row.at(2) + 1)));
    return static_cast<std::uint32_t>(combinations);
}

std::string_view evs_key(ev_profile_mode mode)
{
    switch (mode) {
    case ev_profile_mode::automatic:
        return "count";
    case ev_profile_mode::listed:
        return "evs";
    case ev_profile_mode::generated:
        return "fields";
    }
    return "mode";
}

result apply(const daemon_config &config, std::size_t row, control::ev_profile_store &store)
{
    const ev_profile_options &options = config.ev_profiles[row];
    const auto refused = [&](std::string_view key, const session::refusal &why) {
        return refuse(config, ev_profile_key, row, key, why);
    };
    if (!options.evs.empty() && options.mode != ev_profile_mode::listed)
        return refused("evs", {0, "allowed with mode \"listed\" only"});
    if (!options.fields.empty() && options.mode != ev_profile_mode::generated)
        return refused("fields", {0, "allowed with mode \"generated\" only"});
    const std::string_view evs = evs_key(options.mode);
    control::ev_profile_change change;
    change.state = offline;
    change.mode = static_cast<std::uint32_t>(mode_of(options.mode));
    change.format = session::built_in_profile;
    change.count = count_of(options);
    change.fields = fields_of(options);
    if (const auto made = store.modify(options.id, change, std::nullopt); !made.result)
        return refused(options.count ? "count" : evs, made.result.error());
    std::vector<session::ev_entry> entries;
    for (const std::int64_t number : options.evs) {
        entries.emplace_back().replacement = ev_of(number);
        entries.back().state = static_cast<std::uint32_t>(session::ev_state::good);
    }
    const control::ev_edit fill{session::ev_operation::replace, entries};
    if (!entries.empty())
        if (const auto made = store.modify(options.id, {}, fill); !made.result)
            return refused("evs", made.result.error());
    control::ev_profile_change active;
    active.min_active = options.min_active;
    active.event_mask = session::reportable_ev_states;
    if (const auto made = store.modify(options.id, active, std::nullopt); !made.result)
        return refused("min_active", made.result.error());
    control::ev_profile_change go;
    go.state = online;
    if (const auto made = store.modify(options.id, go, std::nullopt); !made.result)
        return refused(evs, made.result.error());
    return {};
}

session::nscc_values values_of(const cc_profile_options &options, protocol::nscc_link link)
{
    // Others derive from these two.
    if (options.base_rtt_ns)
        link.base_rtt = protocol::duration{*options.base_rtt_ns};
    if (options.target_delay_ns)
        link.target_delay = protocol::duration{*options.target_delay_ns};
    session::nscc_values values = control::to_nscc_values(protocol::derive_nscc(link));
    const auto set = [](auto &value, const auto &option) { value = option.value_or(value); };
    values.disable_qa = options.disable_qa ? 1 : 0;
    set(values.adjust_bytes_threshold, options.adjust_bytes_threshold);
    set(values.adjust_period_threshold, options.adjust_period_threshold_ns);
    set(values.eta, options.eta);
    set(values.fi, options.fi);
    set(values.fi_scale, options.fi_scale);
    set(values.gamma, options.gamma);
    set(values.max_md_jump, options.max_md_jump);
    set(values.max_cwnd, options.max_cwnd);
    set(values.qa_gate, options.qa_gate);
    set(values.qa_threshold, options.qa_threshold_ns);
    return values;
}

result apply(const daemon_config &config, std::size_t row, const protocol::nscc_link &link,
             control::cc_profile_store &store)
{
    const cc_profile_options &options = config.cc_profiles[row];
    control::cc_profile_change change;
    change.state = offline;
    change.algorithm = options.nscc ? session::nscc_algorithm : "";
    if (options.nscc)
        change.config = values_of(options, link);
    if (const auto made = store.modify(options.id, change); !made) {
        // "max_cwnd: found …": the refusal begins with the constant's name; times have their unit behind it here.
        const std::string_view text = made.error().text;
        const std::string constant{text.substr(0, text.find(':'))};
        const std::string name = fmt::format("{}[{}].{}", cc_profile_key, row, constant);
        return refuse(config, cc_profile_key, row, config.origin.has(name) ? constant : constant + "_ns", made.error());
    }
    control::cc_profile_change go;
    go.state = online;
    if (const auto made = store.modify(options.id, go); !made)
        return refuse(config, cc_profile_key, row, "id", made.error());
    return {};
}

// For stores that nobody's traffic depends on.
struct no_effects final : control::profile_effects {
    void set_denied(std::uint64_t, std::span<const control::path_verdict>) override {}
    void universe_changed(std::uint64_t) override {}
    void gone_offline(std::uint64_t) override {}
    void on_event(const session::ev_event &) override {}
};

struct trial_stores {
    explicit trial_stores(const daemon_config &config) : evs{limits, shape_of(config), formats, effects} {}

    session::profile_limits limits{};
    no_effects effects;
    control::ev_format_store formats{limits};
    control::ev_profile_store evs;
    control::cc_profile_store ccs{limits, {}};
};

} // namespace

control::fabric_shape shape_of(const daemon_config &config)
{
    return {.planes = config.fabric.planes,
            .uplinks = config.fabric.uplinks,
            .usids = usid_plan{config.fabric.usids},
            .ev_bits = ev_bits_of(config)};
}

protocol::nscc_link nscc_link_of(const daemon_config &config, std::uint32_t payload_bytes)
{
    const transport_options &transport = config.transport;
    protocol::nscc_link link;
    link.bits_per_second = transport.port_bits_per_second() * config.fabric.planes;
    link.base_rtt = std::chrono::microseconds{transport.base_rtt_us.value_or(unmeasured_rtt_us)};
    link.mtu = protocol::nominal_bytes(payload_bytes);
    link.trimming = transport.trim_nack;
    link.target_delay = std::chrono::microseconds{transport.target_delay_us.value_or(0)};
    link.software = true;
    return link;
}

control::cc_profile built_in_cc_profile(const daemon_config &config, std::uint32_t payload_bytes)
{
    control::cc_profile profile;
    profile.nscc = config.transport.congestion == congestion_algorithm::nscc;
    if (profile.nscc)
        profile.config = values_of({}, nscc_link_of(config, payload_bytes));
    return profile;
}

result apply_profiles(const daemon_config &config, std::uint32_t payload_bytes, control::ev_profile_store &evs,
                      control::cc_profile_store &ccs)
{
    if (auto unique = check_ids(config, ev_profile_key, config.ev_profiles); !unique)
        return unique;
    if (auto unique = check_ids(config, cc_profile_key, config.cc_profiles); !unique)
        return unique;
    for (std::size_t row = 0; row < config.ev_profiles.size(); ++row)
        if (auto applied = apply(config, row, evs); !applied)
            return applied;
    const protocol::nscc_link link = nscc_link_of(config, payload_bytes);
    for (std::size_t row = 0; row < config.cc_profiles.size(); ++row)
        if (auto applied = apply(config, row, link, ccs); !applied)
            return applied;
    return {};
}

result check_profiles(const daemon_config &config)
{
    trial_stores trial{config};
    return apply_profiles(config, usual_payload, trial.evs, trial.ccs);
}

session::outcome<> check_settings(const daemon_config &config, const control::stored_settings &settings)
{
    trial_stores trial{config};
    if (const auto made = apply_profiles(config, usual_payload, trial.evs, trial.ccs); !made)
        return std::unexpected{session::refusal{EINVAL, made.error().text()}};
    return control::restore(settings, {.formats = trial.formats, .evs = trial.evs, .ccs = trial.ccs},
                            config.fabric.planes);
}

} // namespace mrc::service
