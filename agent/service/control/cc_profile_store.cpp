// SPDX-License-Identifier: Apache-2.0
#include "service/control/cc_profile_store.h"

#include <cerrno>
#include <cmath>

#include <fmt/format.h>

#include "service/control/invalid.h"
#include "service/control/transitions.h"

namespace mrc::service::control
{

namespace
{

// The wire's time-stamps, units of 128 ns in 16 bits, wrap after 8.39 ms: a delay above half of it has no sign.
constexpr std::uint32_t longest_rtt_ns = 8'000'000;
constexpr std::uint32_t longest_period_ns = 1'000'000'000;
constexpr float most_bytes = 1e9F;
constexpr std::uint32_t least_window = 256; // one packet of the smallest payload
constexpr std::uint32_t widest_gate = 31;

struct whole_range {
    const char *name;
    std::uint32_t session::nscc_values::*member;
    std::uint32_t min;
    std::uint32_t max;
    bool zero; // is allowed beside the range
};
constexpr whole_range whole_ranges[] = {
    {"adjust_bytes_threshold", &session::nscc_values::adjust_bytes_threshold, 1, UINT32_MAX, false},
    {"adjust_period_threshold", &session::nscc_values::adjust_period_threshold, 1, longest_period_ns, false},
    {"base_rtt", &session::nscc_values::base_rtt, 1, longest_rtt_ns, false},
    {"max_cwnd", &session::nscc_values::max_cwnd, least_window, UINT32_MAX, true},
    {"qa_threshold", &session::nscc_values::qa_threshold, 0, UINT32_MAX, false},
    {"target_delay", &session::nscc_values::target_delay, 1, longest_rtt_ns, false},
};

struct real_range {
    const char *name;
    float session::nscc_values::*member;
    float max;
};
constexpr real_range real_ranges[] = {
    {"eta", &session::nscc_values::eta, most_bytes},           {"fi", &session::nscc_values::fi, most_bytes},
    {"fi_scale", &session::nscc_values::fi_scale, most_bytes}, {"gamma", &session::nscc_values::gamma, 1},
    {"max_md_jump", &session::nscc_values::max_md_jump, 1},
};

session::outcome<> apply(cc_profile &profile, const cc_profile_change &change)
{
    if (change.algorithm) {
        if (!change.algorithm->empty() && *change.algorithm != session::nscc_algorithm)
            return invalid(R"(found algorithm "{}", allowed is "{}" or none)", *change.algorithm,
                           session::nscc_algorithm);
        const bool nscc = !change.algorithm->empty();
        if (nscc != profile.nscc)
            profile.config.reset();
        profile.nscc = nscc;
    }
    if (change.config) {
        if (!profile.nscc)
            return invalid("a configuration without an algorithm");
        if (auto right = check(*change.config); !right)
            return right;
        profile.config = *change.config;
    }
    return {};
}

session::outcome<> check_transition(const cc_profile &profile, const cc_profile_change &change,
                                    session::profile_state to)
{
    if (profile.state == session::profile_state::init && !change.algorithm)
        return invalid("OFFLINE needs the algorithm");
    if (to == session::profile_state::online && profile.nscc && !profile.config)
        return invalid("ONLINE needs the configuration");
    if (profile.state == session::profile_state::online && profile.queue_pairs != 0)
        return std::unexpected{
            session::refusal{EBUSY, fmt::format("{} active queue pairs use the profile", profile.queue_pairs)}};
    return {};
}

} // namespace

session::outcome<> check(const session::nscc_values &config)
{
    for (const auto &[name, member, min, max, zero] : whole_ranges)
        if (const std::uint32_t found = config.*member; (found < min || found > max) && !(zero && found == 0))
            return invalid("{}: found {}, allowed is {}{} to {}", name, found, zero ? "0 or " : "", min, max);
    for (const auto &[name, member, max] : real_ranges)
        if (const float found = config.*member; !(found >= 0 && found <= max)) // not a number: neither
            return invalid("{}: found {}, allowed is 0 to {}", name, found, max);
    if (config.qa_gate > widest_gate)
        return invalid("qa_gate: found {}, allowed is 0 to {}", config.qa_gate, widest_gate);
    return {};
}

protocol::nscc_config to_nscc_config(const session::nscc_values &config, protocol::nscc_link link)
{
    using protocol::duration;
    link.base_rtt = duration{config.base_rtt};
    link.target_delay = duration{config.target_delay};
    protocol::nscc_config out = protocol::derive_nscc(link);
    out.disable_qa = config.disable_qa != 0;
    out.adjust_bytes_threshold = config.adjust_bytes_threshold;
    out.adjust_period_threshold = duration{config.adjust_period_threshold};
    out.base_rtt = link.base_rtt;
    out.eta = static_cast<double>(config.eta);
    out.fi = static_cast<double>(config.fi);
    out.fi_scale = static_cast<double>(config.fi_scale);
    out.gamma = static_cast<double>(config.gamma);
    out.max_md_jump = static_cast<double>(config.max_md_jump);
    out.max_cwnd = config.max_cwnd;
    out.qa_gate = config.qa_gate;
    out.qa_threshold = duration{config.qa_threshold};
    out.target_delay = link.target_delay;
    return out;
}

session::nscc_values to_nscc_values(const protocol::nscc_config &config)
{
    const auto bounded = [](auto number) {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(number), UINT32_MAX));
    };
    session::nscc_values out;
    out.disable_qa = config.disable_qa ? 1 : 0;
    out.adjust_bytes_threshold = config.adjust_bytes_threshold;
    out.adjust_period_threshold = bounded(config.adjust_period_threshold.count());
    out.base_rtt = bounded(config.base_rtt.count());
    out.eta = static_cast<float>(config.eta);
    out.fi = static_cast<float>(config.fi);
    out.fi_scale = static_cast<float>(config.fi_scale);
    out.gamma = static_cast<float>(config.gamma);
    out.max_md_jump = static_cast<float>(config.max_md_jump);
    out.max_cwnd = bounded(config.max_cwnd);
    out.qa_gate = config.qa_gate;
    out.qa_threshold = bounded(config.qa_threshold.count());
    out.target_delay = bounded(config.target_delay.count());
    return out;
}

cc_profile_store::cc_profile_store(const session::profile_limits &limits, cc_profile built_in) : limits_{limits}
{
    built_in.state = session::profile_state::online;
    profiles_.emplace(session::built_in_profile, built_in);
}

const cc_profile &cc_profile_store::find(std::uint64_t id) const
{
    static const cc_profile untouched;
    const auto found = profiles_.find(id);
    return found == profiles_.end() ? untouched : found->second;
}

session::outcome<> cc_profile_store::modify(std::uint64_t id, const cc_profile_change &change)
{
    cc_profile profile = find(id);
    const auto asked = transition_of(profile.state, change.state, change.current);
    if (!asked)
        return std::unexpected{asked.error()};
    const std::optional<session::profile_state> to = *asked;
    if (id == session::built_in_profile && (change.algorithm || change.config || to))
        return invalid("profile 0 is built in and cannot be changed");
    // ONLINE constants may be set by themselves only, not on the way out.
    const bool online_config = limits_.modify_cc_online && !to;
    const bool attributes = change.algorithm || (change.config && !online_config);
    if (auto allowed = check_modifiable(profile.state, to, attributes, change.config.has_value()); !allowed)
        return allowed;
    if (auto applied = apply(profile, change); !applied)
        return applied;
    if (!to) {
        if (profile.state != session::profile_state::init)
            profiles_[id] = profile;
        return {};
    }
    if (auto allowed = check_transition(profile, change, *to); !allowed)
        return allowed;
    if (profile.state == session::profile_state::init && profiles_.size() > limits_.cc_profiles)
        return std::unexpected{
            session::refusal{EIO, fmt::format("there are {} CC profiles already", limits_.cc_profiles)}};
    profile.state = *to;
    if (profile.state == session::profile_state::init)
        profiles_.erase(id);
    else
        profiles_[id] = profile;
    return {};
}

session::outcome<> cc_profile_store::acquire(std::uint64_t id)
{
    if (find(id).state != session::profile_state::online)
        return invalid("CC profile {} is {}, queue pairs take ONLINE ones", id, text(find(id).state));
    ++profiles_[id].queue_pairs;
    return {};
}

} // namespace mrc::service::control
