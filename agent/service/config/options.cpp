// SPDX-License-Identifier: Apache-2.0
#include "service/config/options.h"

#include <algorithm>
#include <array>

#include "options/kinds.h"
#include "protocol/largest_window.h"
#include "service/config/kinds.h"

#include <sys/un.h>

namespace mrc::service
{

namespace
{

using namespace options;
using namespace kinds;

constexpr std::size_t socket_path_longest = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t pin_path_longest = 200; // leaves room for the names of maps below it
constexpr std::int64_t drain_ms_max = 60'000;
constexpr std::int64_t payload_min = 256;
constexpr std::int64_t payload_max = 4096;
constexpr std::int64_t window_bytes_max = 1 << 30;
constexpr std::int64_t dscp_max = 63;

constexpr auto log_levels = one_of<log_level>({{"trace", log_level::trace},
                                               {"debug", log_level::debug},
                                               {"info", log_level::info},
                                               {"warning", log_level::warning},
                                               {"error", log_level::error}});
constexpr auto fabric_modes = one_of<fabric_mode>({{"srv6", fabric_mode::srv6}, {"direct", fabric_mode::direct}});
constexpr auto engines =
    one_of<engine_kind>({{"auto", engine_kind::automatic}, {"xdp", engine_kind::xdp}, {"af_xdp", engine_kind::af_xdp}});
constexpr auto modes = one_of<attach_mode>(
    {{"auto", attach_mode::automatic}, {"native", attach_mode::native}, {"generic", attach_mode::generic}});
constexpr auto interrupt_choices =
    one_of<interrupt_places>({{"leave", interrupt_places::leave}, {"near", interrupt_places::near}});
constexpr auto out_of_range_answers =
    one_of<out_of_range>({{"nack", out_of_range::nack}, {"silent", out_of_range::silent}});
constexpr auto congestion_algorithms = one_of<congestion_algorithm>({{"nscc", congestion_algorithm::nscc},
                                                                     {"fixed", congestion_algorithm::fixed},
                                                                     {"none", congestion_algorithm::none}});
constexpr auto congestion_scopes =
    one_of<congestion_scope>({{"peer", congestion_scope::peer}, {"queue_pair", congestion_scope::queue_pair}});
constexpr auto payload_names = one_of<payload_sizes>({{"any", payload_sizes::any}, {"verbs", payload_sizes::verbs}});
constexpr whole dscp{0, dscp_max};
constexpr auto ev_profile_modes = one_of<ev_profile_mode>({{"auto", ev_profile_mode::automatic},
                                                           {"listed", ev_profile_mode::listed},
                                                           {"generated", ev_profile_mode::generated}});
constexpr auto cc_algorithms = one_of<bool>({{"uet-1.0-nscc", true}, {"none", false}});
constexpr whole profile_id{1, INT64_MAX}; // 0 is the one built in
constexpr std::int64_t evs_max = std::int64_t{MRC_MAX_PORTS} * max_uplinks;
constexpr presence of_srv6{.is_required = false, .default_note = "none; required with mode \"srv6\""};
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t rtt_ns_max = 8'000'000;
constexpr double window_step_max = 1e9;
constexpr std::size_t usid_patterns_most = 16;
constexpr std::size_t usids_most = std::size_t{MRC_MAX_PORTS} * (max_leaves + max_uplinks);
constexpr std::size_t most_ordinary = 16; // addresses that programs know one host by

table_of<daemon_options> daemon_table()
{
    using row = daemon_options;
    return table_of<row>{}
        .add("instance", instance_name{}, &row::instance)
        .add("socket", absolute_path{socket_path_longest}, &row::socket,
             presence{.default_note = "\"/run/mrc/INSTANCE/mrcd.sock\""})
        .add("pin_dir", absolute_path{pin_path_longest}, &row::pin_dir,
             presence{.default_note = "\"/sys/fs/bpf/mrc/INSTANCE\""})
        .add("state_dir", automatic{absolute_path{pin_path_longest}, "none"}, &row::state_dir,
             presence{.default_note = "\"/var/lib/mrc/INSTANCE\""})
        .add("user", automatic{account_name{"user"}}, &row::user)
        .add("group", automatic{account_name{"group"}}, &row::group)
        .add("drain_ms", whole{0, drain_ms_max}, &row::drain_ms)
        .add("log_level", log_levels, &row::level);
}

table_of<host_options> host_table()
{
    using row = host_options;
    return table_of<row>{}
        .add("address", ipv6_address{}, &row::address,
             presence{.default_note = "the address that leaf and downlink give, or this host's [[peer]]"})
        .add("leaf", whole{0, max_leaves - 1}, &row::leaf, of_srv6)
        .add("downlink", whole{0, max_downlinks - 1}, &row::downlink, of_srv6);
}

table_of<fabric_options> fabric_table()
{
    using row = fabric_options;
    const auto in_usids = [](auto member) { return [member](auto &in) -> auto & { return in.usids.*member; }; };
    const list_of usid_patterns_kind{
        usid_pattern_text{}, "patterns of 4 hexadecimal digits or 16 bits, with P for the plane and I for the number",
        1, usid_patterns_most};
    return table_of<row>{}
        .add("mode", fabric_modes, &row::mode)
        .add("usid_block", locator_block{}, in_usids(&usid_options::block))
        .add("usid_bits", usid_length{}, &row::usid_bits)
        .add("leaf_usid", usid_patterns_kind, in_usids(&usid_options::leaf))
        .add("spine_usid", usid_patterns_kind, in_usids(&usid_options::spine))
        .add("host_usid", usid_pattern_text{}, in_usids(&usid_options::host))
        .add("address_prefix", ipv6_prefix{16, 48}, &row::address_prefix)
        .add("ipv4_prefix", automatic{ipv4_prefix{8, 31}, "none"}, &row::ipv4_prefix)
        .add("planes", whole{1, MRC_MAX_PORTS}, &row::planes,
             presence{.default_note = "as many as a [[peer]] has addresses; required with mode \"srv6\""})
        .add("leaves", whole{1, max_leaves}, &row::leaves, of_srv6)
        .add("uplinks", whole{1, max_uplinks}, &row::uplinks, of_srv6)
        .add("hosts_per_leaf", whole{1, max_downlinks}, &row::hosts_per_leaf)
        .add("paths", automatic{whole{1, max_uplinks}}, &row::paths)
        .add("hosts_file", automatic{absolute_path{pin_path_longest}, "none"}, &row::hosts_file);
}

table_of<given_usid> usid_table()
{
    using row = given_usid;
    return table_of<row>{}
        .add(
            "plane", whole{0, MRC_MAX_PORTS - 1}, [](auto &in) -> auto & { return in.plane.value; }, required)
        .add("leaf", automatic{whole{0, max_leaves - 1}, "none"}, &row::leaf,
             presence{.default_note = "none, where it is a spine"})
        .add("spine", automatic{whole{0, max_uplinks - 1}, "none"}, &row::spine,
             presence{.default_note = "none, where it is a leaf"})
        .add("usid", usid_number{}, &row::usid, required);
}

table_of<port_options> port_table()
{
    using row = port_options;
    return table_of<row>{}
        .add("device", device_name{}, &row::device, required)
        .add(
            "plane", whole{0, MRC_MAX_PORTS - 1}, [](auto &in) -> auto & { return in.plane.value; }, required)
        .add("gateway", gateway{}, &row::gateway)
        .add("address", automatic{plane_address{}}, &row::address)
        .add("mode", modes, &row::mode)
        .add("queues", automatic{whole{1, MRC_MAX_QUEUES}}, &row::queues);
}

table_of<host_entry> peer_table()
{
    using row = host_entry;
    return table_of<row>{}
        .add("addresses",
             list_of{automatic{plane_address{}, "none"},
                     "addresses, one for each plane: "
                     "\"none\" or a unicast IPv6 or IPv4 address, not a link-local one",
                     1, MRC_MAX_PORTS},
             &row::addresses, required)
        .add("address", automatic{ipv6_address{}, "none"}, &row::common)
        .add("name", automatic{host_name{}, "none"}, &row::name);
}

table_of<socket_host> sockets_table()
{
    using row = socket_host;
    return table_of<row>{}
        .add("host", ipv6_address{}, &row::host, required)
        .add("addresses",
             list_of{plane_address{}, "unicast IPv6 or IPv4 addresses, not link-local ones", 1, most_ordinary},
             &row::addresses, required);
}

table_of<worker_config> worker_table()
{
    using row = worker_config;
    return table_of<row>{}
        .add("workers", automatic{whole{1, MRC_MAX_WORKERS}}, &row::workers)
        .add("affinity", affinity{}, &row::affinity)
        .add("interrupts", interrupt_choices, &row::interrupts);
}

table_of<transmit_options> transmit_table()
{
    using row = transmit_options;
    return table_of<row>{}
        .add("engine", engines, &row::engine)
        .add("payload", automatic{whole{payload_min, payload_max, 64}}, &row::payload)
        .add("burst", whole{1, 256}, &row::burst)
        .add("ring_packets", automatic{whole{0, 256}}, &row::ring_packets)
        .add("spin_us", automatic{whole{0, 1000}}, &row::spin_us)
        .add("outer_sources", whole{1, 256}, &row::outer_sources)
        .add("mrc_from_sockets", flag{}, &row::mrc_from_sockets);
}

table_of<transport_options> transport_table()
{
    using row = transport_options;
    return table_of<row>{}
        .add("window_psns", whole{MRC_MPR_UNIT, protocol::largest_window_psns, MRC_MPR_UNIT}, &row::window_psns)
        .add("congestion", congestion_algorithms, &row::congestion)
        .add("congestion_scope", congestion_scopes, &row::scope)
        .add("link_gbps", automatic{whole{1, 800}}, &row::link_gbps)
        .add("base_rtt_us", automatic{whole{1, 8000}}, &row::base_rtt_us)
        .add("target_delay_us", automatic{whole{1, 8000}}, &row::target_delay_us)
        .add("window_bytes", automatic{whole{payload_max, window_bytes_max}}, &row::window_bytes)
        .add("timeout", whole{0, 24}, &row::timeout)
        .add("linear", whole{0, 7}, &row::linear)
        .add("exponential", whole{0, 25}, &row::exponential)
        .add("active_paths_per_plane", whole{1, max_uplinks}, &row::active_paths_per_plane)
        .add("min_active", whole{1, max_uplinks}, &row::min_active)
        .add("backlog_mark_us", whole{0, 10'000}, &row::backlog_mark_us)
        .add("trim_nack", flag{}, &row::trim_nack);
}

table_of<wire_options> wire_table()
{
    using row = wire_options;
    return table_of<row>{}
        .add("udp_port", either{MRC_UDP_PORT_ROCE, MRC_UDP_PORT_SPEC}, &row::udp_port)
        .add("dscp_control", dscp, [](auto &in) -> auto & { return in.dscp.control; })
        .add("dscp_trimmed", dscp, [](auto &in) -> auto & { return in.dscp.trimmed; })
        .add("dscp_trimmed_lasthop", dscp, [](auto &in) -> auto & { return in.dscp.trimmed_lasthop; })
        .add("dscp_trimmable", dscp, [](auto &in) -> auto & { return in.dscp.trimmable; })
        .add("dscp_retx", dscp, [](auto &in) -> auto & { return in.dscp.retx; })
        .add("dscp_no_trim", dscp, [](auto &in) -> auto & { return in.dscp.no_trim; })
        .add("oor", out_of_range_answers, &row::oor)
        .add("port_mask_base", whole{0, 1}, &row::port_mask_base);
}

table_of<fabric_map_options> fabric_map_table()
{
    using row = fabric_map_options;
    return table_of<row>{}
        .add("interval_us", whole{0, 1'000'000}, &row::interval_us)
        .add("suspect_interval_us", whole{100, 1'000'000}, &row::suspect_interval_us)
        .add("packets_per_second", whole{1, 1'000'000}, &row::packets_per_second)
        .add("lossy_ppm", whole{100, 900'000}, &row::lossy_ppm)
        .add("slow_us", whole{1, 1'000'000}, &row::slow_us)
        .add("exchange", flag{}, &row::exchange)
        .add("deny_lossy", flag{}, &row::deny_lossy)
        .add("min_planes", whole{1, MRC_MAX_PORTS}, &row::min_planes)
        .add("min_spines", whole{1, max_uplinks}, &row::min_spines);
}

table_of<peer_defaults> peer_defaults_table()
{
    using row = peer_defaults;
    return table_of<row>{}
        .add("payload", payload_names, &row::payload)
        .add("trim_nack", flag{}, &row::trim_nack)
        .add("service_time", flag{}, &row::service_time)
        .add("dynamic_mpr", flag{}, &row::dynamic_mpr);
}

table_of<limit_options> limits_table()
{
    using row = limit_options;
    return table_of<row>{}
        .add("clients", whole{1, 65536}, &row::clients)
        .add("queue_pairs", whole{1, MRC_MAX_QPS}, &row::queue_pairs)
        .add("memory_regions", whole{1, 65536}, &row::memory_regions)
        .add("memory_bytes", whole{4096, std::int64_t{1} << 46}, &row::memory_bytes)
        .add("process_memory", flag{}, &row::process_memory)
        .add("completion_queues", whole{1, 65536}, &row::completion_queues)
        .add("completion_entries", whole{1, 1 << 22}, &row::completion_entries)
        .add("total_entries", whole{1, 1 << 26}, &row::total_entries)
        .add("work_requests", whole{1, 65536}, &row::work_requests)
        .add("total_requests", whole{2, 1 << 26}, &row::total_requests);
}

table_of<table_options> tables_table()
{
    using row = table_options;
    return table_of<row>{}
        .add("peers", whole{1, MRC_MAX_PEERS}, &row::peers)
        .add("paths", automatic{whole{1, MRC_MAX_PATHS - 1}}, &row::paths);
}

table_of<ev_profile_options> ev_profile_table()
{
    using row = ev_profile_options;
    const list_of field{whole{0, UINT32_MAX}, "numbers", 5, 5};
    return table_of<row>{}
        .add("id", profile_id, &row::id, required)
        .add("mode", ev_profile_modes, &row::mode)
        .add("count", automatic{whole{1, evs_max}}, &row::count)
        .add("min_active", whole{0, evs_max}, &row::min_active)
        .add("evs", list_of{whole{1, UINT32_MAX}, fmt::format("numbers from 1 to {}", UINT32_MAX)}, &row::evs)
        .add("fields", list_of{field, "[width, init, min, max, mask]"}, &row::fields);
}

table_of<cc_profile_options> cc_profile_table()
{
    using row = cc_profile_options;
    return table_of<row>{}
        .add("id", profile_id, &row::id, required)
        .add("algorithm", cc_algorithms, &row::nscc)
        .add("disable_qa", flag{}, &row::disable_qa)
        .add("adjust_bytes_threshold", automatic{whole{1, UINT32_MAX}}, &row::adjust_bytes_threshold)
        .add("adjust_period_threshold_ns", automatic{whole{1, second_ns}}, &row::adjust_period_threshold_ns)
        .add("base_rtt_ns", automatic{whole{1, rtt_ns_max}}, &row::base_rtt_ns)
        .add("eta", automatic{real{0, window_step_max}}, &row::eta)
        .add("fi", automatic{real{0, window_step_max}}, &row::fi)
        .add("fi_scale", automatic{real{0, window_step_max}}, &row::fi_scale)
        .add("gamma", automatic{real{0, 1}}, &row::gamma)
        .add("max_md_jump", automatic{real{0, 1}}, &row::max_md_jump)
        .add("max_cwnd", automatic{whole{0, UINT32_MAX}}, &row::max_cwnd)
        .add("qa_gate", automatic{whole{0, 31}}, &row::qa_gate)
        .add("qa_threshold_ns", automatic{whole{0, UINT32_MAX}}, &row::qa_threshold_ns)
        .add("target_delay_ns", automatic{whole{1, rtt_ns_max}}, &row::target_delay_ns);
}

constexpr std::array of_srv6_only{"host.leaf",          "host.downlink",
                                  "fabric.usid_block",  "fabric.address_prefix",
                                  "fabric.usid_bits",   "fabric.leaf_usid",
                                  "fabric.spine_usid",  "fabric.host_usid",
                                  "usid.plane",         "usid.leaf",
                                  "usid.spine",         "usid.usid",
                                  "fabric.ipv4_prefix", "fabric.leaves",
                                  "fabric.uplinks",     "fabric.hosts_per_leaf",
                                  "port.gateway",       "transmit.outer_sources"};
constexpr std::array of_direct_only{"port.address", "peer.addresses", "peer.address", "peer.name"};

} // namespace

bool is_of_fabric(fabric_mode mode, std::string_view name)
{
    std::string plain{name};
    if (const auto row = plain.find('['); row != std::string::npos)
        plain.erase(row, plain.find(']') + 1 - row);
    const auto is_it = [&](const char *other) { return plain == other; };
    return mode == fabric_mode::direct ? std::ranges::none_of(of_srv6_only, is_it)
                                       : std::ranges::none_of(of_direct_only, is_it);
}

const options::table_of<daemon_config> &config_options()
{
    static const auto all =
        table_of<daemon_config>{}
            .add_table("daemon", daemon_table(), &daemon_config::daemon)
            .add_table("host", host_table(), &daemon_config::host)
            .add_table("fabric", fabric_table(), &daemon_config::fabric)
            .add_rows("usid", usid_table(), [](auto &in) -> auto & { return in.fabric.usids.given; },
                      {.one_per = "switch whose uSID follows no pattern", .least = 0, .most = usids_most})
            .add_rows("port", port_table(), &daemon_config::ports, {.one_per = "port of the host", .least = 1})
            .add_rows("peer", peer_table(), &daemon_config::hosts,
                      {.one_per = "host", .least = 0, .most = MRC_MAX_GROUPS - 1})
            .add_rows("sockets", sockets_table(), &daemon_config::sockets,
                      {.one_per = "host", .least = 0, .most = MRC_MAX_ORDINARY / most_ordinary})
            .add_table("worker", worker_table(), &daemon_config::worker)
            .add_table("transmit", transmit_table(), &daemon_config::transmit)
            .add_table("transport", transport_table(), &daemon_config::transport)
            .add_table("wire", wire_table(), &daemon_config::wire)
            .add_table("fabric_map", fabric_map_table(), &daemon_config::fabric_map)
            .add_table("peer_defaults", peer_defaults_table(), &daemon_config::peers)
            .add_table("limits", limits_table(), &daemon_config::limits)
            .add_table("tables", tables_table(), &daemon_config::tables)
            .add_rows("ev_profile", ev_profile_table(), &daemon_config::ev_profiles, {.one_per = "profile"})
            .add_rows("cc_profile", cc_profile_table(), &daemon_config::cc_profiles, {.one_per = "profile"});
    return all;
}

} // namespace mrc::service
