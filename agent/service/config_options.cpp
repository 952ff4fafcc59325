// SPDX-License-Identifier: Apache-2.0
#include <service/config_options.h>

#include <service/config_kinds.h>

#include <sys/un.h>

namespace mrc::service
{

namespace
{

using namespace kinds;

constexpr std::size_t socket_path_longest = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t pin_path_longest = 200; // leaves room for the names of maps below it
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
constexpr choice payload_words{std::to_array<std::pair<std::string_view, payload_sizes>>(
    {{"any", payload_sizes::any}, {"verbs", payload_sizes::verbs}})};
constexpr whole dscp{0, dscp_max};

struct presence {
    bool required = false;
    std::string_view default_words; // instead of the default value's text
};
constexpr presence required{.required = true, .default_words = {}};

daemon_config config_with_one_port()
{
    daemon_config config;
    config.ports.emplace_back();
    return config;
}

// `member` returns a reference to the option's value: member(config, row), for const and non-const configurations.
template <class Kind, class Member>
option make(std::string_view table, std::string_view key, Kind kind, Member member, presence given = {})
{
    const daemon_config defaults = config_with_one_port();
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
}

void add_transport(std::vector<option> &all)
{
    all.push_back(make("transport", "window_psns", whole{MRC_MPR_UNIT, 4096, MRC_MPR_UNIT},
                       [](auto &c, std::size_t) -> auto & { return c.transport.window_psns; }));
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
}

void add_peer_defaults(std::vector<option> &all)
{
    all.push_back(make("peer_defaults", "payload", payload_words,
                       [](auto &c, std::size_t) -> auto & { return c.peers.payload; }));
    all.push_back(
        make("peer_defaults", "trim_nack", flag{}, [](auto &c, std::size_t) -> auto & { return c.peers.trim_nack; }));
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
    return all;
}

} // namespace

std::string option::name(std::size_t row) const
{
    return table == port_table ? fmt::format("{}[{}].{}", table, row, key) : fmt::format("{}.{}", table, key);
}

std::span<const option> config_options()
{
    static const std::vector<option> all = build_options();
    return all;
}

} // namespace mrc::service
