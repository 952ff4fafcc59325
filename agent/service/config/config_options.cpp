// SPDX-License-Identifier: Apache-2.0
#include "service/config/config_options.h"

#include "service/config/config_kinds.h"

#include <sys/un.h>

namespace mrc::service
{

namespace
{

using namespace kinds;

constexpr std::size_t socket_path_longest = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t pin_path_longest = 200; // leaves room for the names of maps below it
constexpr std::int64_t drain_ms_max = 60'000;
constexpr std::int64_t payload_min = 256;
constexpr std::int64_t payload_max = 4096;
constexpr std::int64_t window_bytes_max = 1 << 30;
constexpr std::int64_t dscp_max = 63;

constexpr choice log_levels{std::to_array<std::pair<std::string_view, log_level>>({{"trace", log_level::trace},
                                                                                   {"debug", log_level::debug},
                                                                                   {"info", log_level::info},
                                                                                   {"warning", log_level::warning},
                                                                                   {"error", log_level::error}})};
constexpr choice engines{std::to_array<std::pair<std::string_view, transmit_engine>>(
    {{"auto", transmit_engine::automatic}, {"xdp", transmit_engine::xdp}, {"af_xdp", transmit_engine::af_xdp}})};
constexpr choice modes{std::to_array<std::pair<std::string_view, attach_mode>>(
    {{"auto", attach_mode::automatic}, {"native", attach_mode::native}, {"generic", attach_mode::generic}})};
constexpr choice out_of_range_answers{std::to_array<std::pair<std::string_view, out_of_range>>(
    {{"nack", out_of_range::nack}, {"silent", out_of_range::silent}})};
constexpr choice congestion_algorithms{
    std::to_array<std::pair<std::string_view, congestion_algorithm>>({{"nscc", congestion_algorithm::nscc},
                                                                      {"fixed", congestion_algorithm::fixed},
                                                                      {"none", congestion_algorithm::none}})};
constexpr choice congestion_scopes{std::to_array<std::pair<std::string_view, congestion_scope>>(
    {{"peer", congestion_scope::peer}, {"queue_pair", congestion_scope::queue_pair}})};
constexpr choice payload_words{std::to_array<std::pair<std::string_view, payload_sizes>>(
    {{"any", payload_sizes::any}, {"verbs", payload_sizes::verbs}})};
constexpr whole dscp{0, dscp_max};
constexpr choice ev_profile_modes{
    std::to_array<std::pair<std::string_view, ev_profile_mode>>({{"auto", ev_profile_mode::automatic},
                                                                 {"listed", ev_profile_mode::listed},
                                                                 {"generated", ev_profile_mode::generated}})};
constexpr choice cc_algorithms{
    std::to_array<std::pair<std::string_view, bool>>({{"uet-1.0-nscc", true}, {"none", false}})};
constexpr whole profile_id{1, INT64_MAX}; // 0 is the one built in
constexpr std::int64_t evs_max = std::int64_t{MRC_MAX_PORTS} * max_uplinks;
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t rtt_ns_max = 8'000'000;
constexpr double window_step_max = 1e9;

struct presence {
    bool required = false;
    std::string_view default_words; // instead of the default value's text
};
constexpr presence required{.required = true, .default_words = {}};

daemon_config config_with_one_of_each()
{
    daemon_config config;
    for (const std::string_view table : {port_table, ev_profile_table, cc_profile_table})
        add_row(config, table);
    return config;
}

// `member` returns a reference to the option's value: member(config, row), for const and non-const configurations.
template <class Kind, class Member>
option make(std::string_view table, std::string_view key, Kind kind, Member member, presence given = {})
{
    const daemon_config defaults = config_with_one_of_each();
    std::string default_text;
    if (!given.required && given.default_words.empty())
        default_text = kind.write(member(defaults, 0));
    else
        default_text = given.default_words;
    return option{
        .table = table,
        .key = key,
        .allowed = kind.allowed(),
        .default_text = std::move(default_text),
        .set = [kind, member](daemon_config &config, std::size_t row,
                              const file_value &value) { return kind.read(value, member(config, row)); },
        .as_toml = [kind, member](const daemon_config &config,
                                  std::size_t row) { return kind.write(member(config, row)); },
        .copy = [member](daemon_config &to, const daemon_config &from,
                         std::size_t row) { member(to, row) = member(from, row); },
    };
}

void add_identity(std::vector<option> &all)
{
    all.push_back(
        make("daemon", "instance", instance_name{}, [](auto &c, std::size_t) -> auto & { return c.daemon.instance; }));
    all.push_back(make(
        "daemon", "socket", absolute_path{socket_path_longest},
        [](auto &c, std::size_t) -> auto & { return c.daemon.socket; },
        presence{.default_words = "\"/run/mrc/INSTANCE/mrcd.sock\""}));
    all.push_back(make(
        "daemon", "pin_dir", absolute_path{pin_path_longest},
        [](auto &c, std::size_t) -> auto & { return c.daemon.pin_dir; },
        presence{.default_words = "\"/sys/fs/bpf/mrc/INSTANCE\""}));
    all.push_back(make("daemon", "user", automatic{account_name{"user"}},
                       [](auto &c, std::size_t) -> auto & { return c.daemon.user; }));
    all.push_back(make("daemon", "group", automatic{account_name{"group"}},
                       [](auto &c, std::size_t) -> auto & { return c.daemon.group; }));
    all.push_back(make("daemon", "drain_ms", whole{0, drain_ms_max},
                       [](auto &c, std::size_t) -> auto & { return c.daemon.drain_ms; }));
    all.push_back(
        make("daemon", "log_level", log_levels, [](auto &c, std::size_t) -> auto & { return c.daemon.level; }));
    all.push_back(make(
        "host", "address", ipv6_address{}, [](auto &c, std::size_t) -> auto & { return c.host.address; },
        presence{.default_words = "the address that leaf and downlink give"}));
    all.push_back(make(
        "host", "leaf", whole{0, max_leaves - 1}, [](auto &c, std::size_t) -> auto & { return c.host.leaf; },
        required));
    all.push_back(make(
        "host", "downlink", whole{0, max_downlinks - 1}, [](auto &c, std::size_t) -> auto & { return c.host.downlink; },
        required));
}

void add_fabric(std::vector<option> &all)
{
    all.push_back(make("fabric", "usid_block", ipv6_prefix{32, 32},
                       [](auto &c, std::size_t) -> auto & { return c.fabric.usid_block; }));
    all.push_back(make("fabric", "address_prefix", ipv6_prefix{16, 48},
                       [](auto &c, std::size_t) -> auto & { return c.fabric.address_prefix; }));
    all.push_back(make("fabric", "ipv4_prefix", automatic{ipv4_prefix{8, 31}, "none"},
                       [](auto &c, std::size_t) -> auto & { return c.fabric.ipv4_prefix; }));
    all.push_back(make(
        "fabric", "planes", whole{1, MRC_MAX_PORTS}, [](auto &c, std::size_t) -> auto & { return c.fabric.planes; },
        required));
    all.push_back(make(
        "fabric", "leaves", whole{1, max_leaves}, [](auto &c, std::size_t) -> auto & { return c.fabric.leaves; },
        required));
    all.push_back(make(
        "fabric", "uplinks", whole{1, max_uplinks}, [](auto &c, std::size_t) -> auto & { return c.fabric.uplinks; },
        required));
    all.push_back(make("fabric", "hosts_per_leaf", whole{1, max_downlinks},
                       [](auto &c, std::size_t) -> auto & { return c.fabric.hosts_per_leaf; }));
}

void add_ports(std::vector<option> &all)
{
    all.push_back(make(
        port_table, "device", device_name{}, [](auto &c, std::size_t row) -> auto & { return c.ports.at(row).device; },
        required));
    all.push_back(make(
        port_table, "plane", whole{0, MRC_MAX_PORTS - 1},
        [](auto &c, std::size_t row) -> auto & { return c.ports.at(row).plane.value; }, required));
    all.push_back(make(port_table, "gateway", gateway{},
                       [](auto &c, std::size_t row) -> auto & { return c.ports.at(row).gateway; }));
    all.push_back(
        make(port_table, "mode", modes, [](auto &c, std::size_t row) -> auto & { return c.ports.at(row).mode; }));
    all.push_back(make(port_table, "queues", automatic{whole{1, MRC_MAX_QUEUES}},
                       [](auto &c, std::size_t row) -> auto & { return c.ports.at(row).queues; }));
}

void add_transmit(std::vector<option> &all)
{
    all.push_back(
        make("transmit", "engine", engines, [](auto &c, std::size_t) -> auto & { return c.transmit.engine; }));
    all.push_back(make("transmit", "payload", automatic{whole{payload_min, payload_max, 64}},
                       [](auto &c, std::size_t) -> auto & { return c.transmit.payload; }));
    all.push_back(
        make("transmit", "burst", whole{1, 256}, [](auto &c, std::size_t) -> auto & { return c.transmit.burst; }));
    all.push_back(make("transmit", "spin_us", automatic{whole{0, 1000}},
                       [](auto &c, std::size_t) -> auto & { return c.transmit.spin_us; }));
    all.push_back(make("transmit", "mrc_from_sockets", flag{},
                       [](auto &c, std::size_t) -> auto & { return c.transmit.mrc_from_sockets; }));
}

void add_transport(std::vector<option> &all)
{
    all.push_back(make("transport", "window_psns", whole{MRC_MPR_UNIT, 4096, MRC_MPR_UNIT},
                       [](auto &c, std::size_t) -> auto & { return c.transport.window_psns; }));
    all.push_back(make("transport", "congestion", congestion_algorithms,
                       [](auto &c, std::size_t) -> auto & { return c.transport.congestion; }));
    all.push_back(make("transport", "congestion_scope", congestion_scopes,
                       [](auto &c, std::size_t) -> auto & { return c.transport.scope; }));
    all.push_back(make("transport", "link_gbps", whole{1, 800},
                       [](auto &c, std::size_t) -> auto & { return c.transport.link_gbps; }));
    all.push_back(make("transport", "base_rtt_us", automatic{whole{1, 8000}},
                       [](auto &c, std::size_t) -> auto & { return c.transport.base_rtt_us; }));
    all.push_back(make("transport", "window_bytes", automatic{whole{payload_max, window_bytes_max}},
                       [](auto &c, std::size_t) -> auto & { return c.transport.window_bytes; }));
    all.push_back(
        make("transport", "timeout", whole{0, 24}, [](auto &c, std::size_t) -> auto & { return c.transport.timeout; }));
    all.push_back(
        make("transport", "linear", whole{0, 7}, [](auto &c, std::size_t) -> auto & { return c.transport.linear; }));
    all.push_back(make("transport", "exponential", whole{0, 25},
                       [](auto &c, std::size_t) -> auto & { return c.transport.exponential; }));
    all.push_back(make("transport", "active_paths_per_plane", whole{1, max_uplinks},
                       [](auto &c, std::size_t) -> auto & { return c.transport.active_paths_per_plane; }));
    all.push_back(make("transport", "min_active", whole{1, max_uplinks},
                       [](auto &c, std::size_t) -> auto & { return c.transport.min_active; }));
    all.push_back(make("transport", "backlog_mark_us", whole{0, 10'000},
                       [](auto &c, std::size_t) -> auto & { return c.transport.backlog_mark_us; }));
    all.push_back(
        make("transport", "trim_nack", flag{}, [](auto &c, std::size_t) -> auto & { return c.transport.trim_nack; }));
}

void add_wire(std::vector<option> &all)
{
    all.push_back(make("wire", "udp_port", either{MRC_UDP_PORT_ROCE, MRC_UDP_PORT_SPEC},
                       [](auto &c, std::size_t) -> auto & { return c.wire.udp_port; }));
    all.push_back(
        make("wire", "dscp_control", dscp, [](auto &c, std::size_t) -> auto & { return c.wire.dscp.control; }));
    all.push_back(
        make("wire", "dscp_trimmed", dscp, [](auto &c, std::size_t) -> auto & { return c.wire.dscp.trimmed; }));
    all.push_back(make("wire", "dscp_trimmed_lasthop", dscp,
                       [](auto &c, std::size_t) -> auto & { return c.wire.dscp.trimmed_lasthop; }));
    all.push_back(
        make("wire", "dscp_trimmable", dscp, [](auto &c, std::size_t) -> auto & { return c.wire.dscp.trimmable; }));
    all.push_back(make("wire", "dscp_retx", dscp, [](auto &c, std::size_t) -> auto & { return c.wire.dscp.retx; }));
    all.push_back(
        make("wire", "dscp_no_trim", dscp, [](auto &c, std::size_t) -> auto & { return c.wire.dscp.no_trim; }));
    all.push_back(make("wire", "oor", out_of_range_answers, [](auto &c, std::size_t) -> auto & { return c.wire.oor; }));
    all.push_back(make("wire", "port_mask_base", whole{0, 1},
                       [](auto &c, std::size_t) -> auto & { return c.wire.port_mask_base; }));
}

void add_peer_defaults(std::vector<option> &all)
{
    all.push_back(make("peer_defaults", "payload", payload_words,
                       [](auto &c, std::size_t) -> auto & { return c.peers.payload; }));
    all.push_back(
        make("peer_defaults", "trim_nack", flag{}, [](auto &c, std::size_t) -> auto & { return c.peers.trim_nack; }));
    all.push_back(make("peer_defaults", "service_time", flag{},
                       [](auto &c, std::size_t) -> auto & { return c.peers.service_time; }));
    all.push_back(make("peer_defaults", "dynamic_mpr", flag{},
                       [](auto &c, std::size_t) -> auto & { return c.peers.dynamic_mpr; }));
}

void add_limits(std::vector<option> &all)
{
    all.push_back(
        make("limits", "clients", whole{1, 65536}, [](auto &c, std::size_t) -> auto & { return c.limits.clients; }));
    all.push_back(make("limits", "queue_pairs", whole{1, 4096},
                       [](auto &c, std::size_t) -> auto & { return c.limits.queue_pairs; }));
    all.push_back(make("limits", "memory_regions", whole{1, 65536},
                       [](auto &c, std::size_t) -> auto & { return c.limits.memory_regions; }));
    all.push_back(make("limits", "memory_bytes", whole{4096, std::int64_t{1} << 46},
                       [](auto &c, std::size_t) -> auto & { return c.limits.memory_bytes; }));
    all.push_back(make("limits", "completion_queues", whole{1, 65536},
                       [](auto &c, std::size_t) -> auto & { return c.limits.completion_queues; }));
    all.push_back(make("limits", "completion_entries", whole{1, 1 << 22},
                       [](auto &c, std::size_t) -> auto & { return c.limits.completion_entries; }));
    all.push_back(make("limits", "total_entries", whole{1, 1 << 26},
                       [](auto &c, std::size_t) -> auto & { return c.limits.total_entries; }));
    all.push_back(make("limits", "work_requests", whole{1, 65536},
                       [](auto &c, std::size_t) -> auto & { return c.limits.work_requests; }));
    all.push_back(make("limits", "total_requests", whole{2, 1 << 26},
                       [](auto &c, std::size_t) -> auto & { return c.limits.total_requests; }));
}

void add_ev_profiles(std::vector<option> &all)
{
    const auto add = [&](std::string_view key, auto kind, auto member, presence given = {}) {
        all.push_back(make(
            ev_profile_table, key, kind,
            [member](auto &c, std::size_t row) -> auto & { return c.ev_profiles.at(row).*member; }, given));
    };
    using options = ev_profile_options;
    add("id", profile_id, &options::id, required);
    add("mode", ev_profile_modes, &options::mode);
    add("count", automatic{whole{1, evs_max}}, &options::count);
    add("min_active", whole{0, evs_max}, &options::min_active);
    add("evs", numbers{1, UINT32_MAX}, &options::evs);
    add("fields", number_rows{"width, init, min, max, mask", 5}, &options::fields);
}

void add_cc_profiles(std::vector<option> &all)
{
    const auto add = [&](std::string_view key, auto kind, auto member, presence given = {}) {
        all.push_back(make(
            cc_profile_table, key, kind,
            [member](auto &c, std::size_t row) -> auto & { return c.cc_profiles.at(row).*member; }, given));
    };
    using options = cc_profile_options;
    add("id", profile_id, &options::id, required);
    add("algorithm", cc_algorithms, &options::nscc);
    add("disable_qa", flag{}, &options::disable_qa);
    add("adjust_bytes_threshold", automatic{whole{1, UINT32_MAX}}, &options::adjust_bytes_threshold);
    add("adjust_period_threshold_ns", automatic{whole{1, second_ns}}, &options::adjust_period_threshold_ns);
    add("base_rtt_ns", automatic{whole{1, rtt_ns_max}}, &options::base_rtt_ns);
    add("eta", automatic{real{0, window_step_max}}, &options::eta);
    add("fi", automatic{real{0, window_step_max}}, &options::fi);
    add("fi_scale", automatic{real{0, window_step_max}}, &options::fi_scale);
    add("gamma", automatic{real{0, 1}}, &options::gamma);
    add("max_md_jump", automatic{real{0, 1}}, &options::max_md_jump);
    add("max_cwnd", automatic{whole{0, UINT32_MAX}}, &options::max_cwnd);
    add("qa_gate", automatic{whole{0, 31}}, &options::qa_gate);
    add("qa_threshold_ns", automatic{whole{0, UINT32_MAX}}, &options::qa_threshold_ns);
    add("target_delay_ns", automatic{whole{1, rtt_ns_max}}, &options::target_delay_ns);
}

std::vector<option> build_options()
{
    std::vector<option> all;
    add_identity(all);
    add_fabric(all);
    add_ports(all);
    add_transmit(all);
    add_transport(all);
    add_wire(all);
    add_peer_defaults(all);
    add_limits(all);
    add_ev_profiles(all);
    add_cc_profiles(all);
    return all;
}

} // namespace

bool is_array_table(std::string_view table)
{
    return table == port_table || table == ev_profile_table || table == cc_profile_table;
}

std::size_t rows_of(const daemon_config &config, std::string_view table)
{
    if (table == port_table)
        return config.ports.size();
    if (table == ev_profile_table)
        return config.ev_profiles.size();
    return table == cc_profile_table ? config.cc_profiles.size() : 1;
}

std::size_t add_row(daemon_config &config, std::string_view table)
{
    if (table == ev_profile_table)
        config.ev_profiles.emplace_back();
    else if (table == cc_profile_table)
        config.cc_profiles.emplace_back();
    else
        config.ports.emplace_back();
    return rows_of(config, table) - 1;
}

std::string option::name(std::size_t row) const
{
    return is_array_table(table) ? fmt::format("{}[{}].{}", table, row, key) : fmt::format("{}.{}", table, key);
}

std::span<const option> config_options()
{
    static const std::vector<option> all = build_options();
    return all;
}

} // namespace mrc::service
