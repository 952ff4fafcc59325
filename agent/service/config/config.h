// SPDX-License-Identifier: Apache-2.0
// The daemon's configuration: one TOML file, read once at start-up and again on SIGHUP.
//
// Every member is one option of docs/mrcd.toml and mrcd(8), and has its default here. `auto` is an empty optional (or
// automatic_gateway). What is found on the host for an `auto` says so. The values returned by load_config are complete
// and checked: nothing else validates them again.
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernel/cpu_list.h"
#include "mrc/abi/maps.h"
#include "mrc/abi/wire.h"
#include "options/origins.h"
#include "protocol/types.h"
#include "service/address.h"
#include "service/usid_plan.h"

namespace mrc::service
{

// Downlinks and leaves stand in IPv4 addresses (srv6_fabric.h), uplinks in EVs (mrc/abi/srv6.h); the usual SRv6 plan
// has room for as many (usid_plan.h).
inline constexpr std::uint32_t max_downlinks = 256;
inline constexpr std::uint32_t max_leaves = 6 * 256;
inline constexpr std::uint32_t max_uplinks = 256;

enum class fabric_mode : std::uint8_t { srv6, direct }; // what packets are carried by
enum class log_level : std::uint8_t { trace, debug, info, warning, error };
enum class engine_kind : std::uint8_t { automatic, xdp, af_xdp };
enum class attach_mode : std::uint8_t { automatic, native, generic };
enum class congestion_algorithm : std::uint8_t { nscc, fixed, none };
enum class congestion_scope : std::uint8_t { peer, queue_pair }; // what shares one window
enum class out_of_range : std::uint8_t { nack, silent };         // PSN above the window (decision D5)
enum class ev_profile_mode : std::uint8_t { automatic, listed, generated };
enum class payload_sizes : std::uint8_t { any, verbs }; // what a peer takes: any multiple of 64, or ibv_mtu sizes

struct daemon_options {
    std::string instance = "default";
    std::string socket;                   // load_config fills in /run/mrc/<instance>/mrcd.sock
    std::string pin_dir;                  // load_config fills in /sys/fs/bpf/mrc/<instance>
    std::optional<std::string> state_dir; // load_config fills in /var/lib/mrc/<instance>; none: nothing is kept
    std::optional<std::string> user;      // that the daemon becomes; auto: mrc where the system has it
    std::optional<std::string> group;     // whose members may use the socket; auto: mrc where the system has it
    std::uint32_t drain_ms = 1000;        // at the end, for what is in flight
    log_level level = log_level::info;
};

struct host_options {
    mrc_ip
        address{}; // common MRC address; SRv6: load_config fills in what leaf and downlink give; direct: zero is none
    std::uint32_t leaf = 0;
    std::uint32_t downlink = 0;
};

struct fabric_options {
    fabric_mode mode = fabric_mode::srv6;
    usid_options usids;
    std::uint32_t usid_bits = 16; // of a uSID: there is no other length
    ip_prefix address_prefix{{{0xfd, 0x6d, 0x72, 0x63}}, 32};
    std::optional<ip_prefix> ipv4_prefix; // none: the hosts have no IPv4 addresses
    std::uint8_t planes = 1;
    std::uint32_t leaves = 1;           // direct: load_config fills in the number of hosts that are listed
    std::uint32_t uplinks = 1;          // T1 spines per plane; direct: load_config fills in `paths`
    std::optional<std::uint32_t> paths; // per plane toward each leaf, or peer; auto: paths_per_plane()
    std::uint32_t hosts_per_leaf = max_downlinks;
    std::optional<std::string> hosts_file; // hosts(5), with names of MRC addresses; none: only [[peer]] has names
};

// By EV profile 0.
[[nodiscard]] inline std::uint32_t paths_per_plane(const fabric_options &fabric)
{
    constexpr std::uint32_t usual_of_direct = 16;
    return fabric.paths.value_or(fabric.mode == fabric_mode::direct ? usual_of_direct : fabric.uplinks);
}

// Of the maps that the BPF programs share with the agent, made before it gives up the right to make them.
struct table_options {
    std::uint32_t peers = MRC_USUAL_PEERS; // hosts in use at one time
    std::optional<std::uint32_t> paths;    // rows, but for row 0; auto: as many as the fabric has, at most usual_paths
};
inline constexpr std::uint32_t usual_paths = MRC_USUAL_PATHS - 1;

// The single neighbour of the device: its router if there is one, else the only entry of the neighbour table.
struct automatic_gateway {
};
// The leaf's side of the link: whose MAC address frames get. mrc_ip is an IPv6 address.
using gateway_option = std::variant<automatic_gateway, mrc_ip, mac_address>;

struct port_options {
    std::string device;
    protocol::plane_index plane;
    gateway_option gateway;
    std::optional<mrc_ip> address = std::nullopt;     // direct: this host's on the plane; auto: own_address
    std::optional<mrc_ip> own_address = std::nullopt; // found (own_addresses.h)
    attach_mode mode = attach_mode::automatic;
    std::optional<std::uint32_t> queues; // receive queues that get an AF_XDP socket; auto: all of them
};

// A host of a direct fabric.
struct host_entry {
    std::vector<std::optional<mrc_ip>> addresses;   // by plane; none where it is not on the plane
    std::optional<mrc_ip> common = std::nullopt;    // on the overlay device; none: it has no overlay
    std::optional<std::string> name = std::nullopt; // that programs of this host may call it by
};

// What programs call a host besides: addresses that adopted sockets take for its MRC address.
struct socket_host {
    mrc_ip host{};                 // its common MRC address
    std::vector<mrc_ip> addresses; // ordinary ones, in either family; IPv4 as ::ffff:a.b.c.d
};

// The CPUs of the NUMA node that the ports are on.
struct cpus_of_ports {
};
// Whichever the scheduler chooses.
struct any_cpu {
};
using affinity_option = std::variant<cpus_of_ports, any_cpu, kernel::cpu_list>;

// Of the ports' interrupts that CPUs of another NUMA node than the workers' serve.
enum class interrupt_places : std::uint8_t {
    leave,
    near, // CPUs of the workers' node serve them
};

struct worker_config {
    std::optional<std::uint32_t> workers = 1; // auto: by the CPUs
    affinity_option affinity;
    interrupt_places interrupts = interrupt_places::leave;
};

struct transmit_options {
    engine_kind engine = engine_kind::automatic;
    std::optional<std::uint32_t> payload;      // bytes per packet, multiple of 64; auto: the largest that fits
    std::uint32_t burst = 64;                  // packets between flushes; frames between which receivers run
    std::optional<std::uint32_t> ring_packets; // up to which XDP transmit uses AF_XDP; auto: measured
    std::optional<std::uint32_t> spin_us;      // auto: 20
    std::uint32_t outer_sources = 1;           // of packets to a host on a plane, SRv6; 1: the port's address alone
    bool mrc_from_sockets = false;             // ordinary sockets may send to MRC's UDP ports over the overlay
};

struct transport_options {
    std::uint32_t window_psns = 1024; // MPR, multiple of MRC_MPR_UNIT
    congestion_algorithm congestion = congestion_algorithm::nscc;
    congestion_scope scope = congestion_scope::peer;
    std::optional<std::uint32_t>
        window_bytes;                       // the congestion window, or what it may grow to; auto: 128 packets a plane
    std::optional<std::uint32_t> link_gbps; // of a port; auto: port_mbps
    std::uint32_t port_mbps = 10'000;       // found (port_speed.h); unless any port tells, this
    std::optional<std::uint32_t> base_rtt_us;     // of an idle fabric, hosts' latency included; auto: measured
    std::optional<std::uint32_t> target_delay_us; // NSCC's T; auto: of the base RTT, and of the idle jitter
    std::uint32_t timeout = 8;                    // first retransmission after 1.024 us * 2^timeout
    std::uint32_t linear = 7;                     // retries at that interval
    std::uint32_t exponential = 14;               // further retries, each after twice the time; 25: for ever
    std::uint32_t active_paths_per_plane = 32;
    std::uint32_t backlog_mark_us = 50; // what waits longer in this host slows its sender down; 0: nothing does
    std::uint32_t min_active = 1;       // paths of a plane that stay in use however bad they look
    bool trim_nack = true;

    [[nodiscard]] std::uint64_t port_bits_per_second() const
    {
        return link_gbps ? std::uint64_t{*link_gbps} * 1'000'000'000 : std::uint64_t{port_mbps} * 1'000'000;
    }
};

struct dscp_options {
    std::uint8_t control = MRC_DSCP_CONTROL;
    std::uint8_t trimmed = MRC_DSCP_TRIMMED;
    std::uint8_t trimmed_lasthop = MRC_DSCP_TRIMMED_LASTHOP;
    std::uint8_t trimmable = MRC_DSCP_TRIMMABLE;
    std::uint8_t retx = MRC_DSCP_TRIMMABLE_RETX;
    std::uint8_t no_trim = MRC_DSCP_NO_TRIM;
};

struct wire_options {
    std::uint16_t udp_port = MRC_UDP_PORT_ROCE; // of packets sent; both are received (decision D1)
    dscp_options dscp;
    out_of_range oor = out_of_range::nack;
    std::uint32_t port_mask_base = 1; // bit of port 1 in port status updates (decision D9)
};

// The fabric map (fabric_map/fabric_map.h); of an SRv6 fabric.
struct fabric_map_options {
    std::uint32_t interval_us = 0;            // between two loops of a way; 0: none are sent
    std::uint32_t suspect_interval_us = 1000; // the same, of a way that has just lost some
    std::uint32_t packets_per_second = 4000;  // of all ways
    std::uint32_t lossy_ppm = 10'000;         // more is a fault
    std::uint32_t slow_us = 1000;             // beyond the quickest
    bool exchange = true;                     // hosts tell each other what their loops find
    bool deny_lossy = false;                  // planes and spines behind a link that loses packets are not used
    std::uint32_t min_planes = 1;             // that stay in use however lossy they are
    std::uint32_t min_spines = 1;             // likewise, of each plane toward each leaf
};

// What is assumed of peers, because neither the OCP API nor packets tell it.
struct peer_defaults {
    payload_sizes payload = payload_sizes::any;
    bool trim_nack = true;
    bool service_time = false;
    bool dynamic_mpr = false;
};

// What one user's clients may have together.
struct limit_options {
    std::uint32_t clients = 256;
    std::uint32_t queue_pairs = 4096;
    std::uint32_t memory_regions = 16384;
    std::uint64_t memory_bytes = std::uint64_t{1} << 40; // registered, whether or not they are in memory
    bool process_memory = true;                          // that is not shared may be registered
    std::uint32_t completion_queues = 4096;
    std::uint32_t completion_entries = 65536; // of one completion queue
    std::uint32_t total_entries = 1U << 20;   // of all of them
    std::uint32_t work_requests = 16384;      // of one send or receive queue
    std::uint32_t total_requests = 1U << 20;  // of all of them
};

// As if a controller had made them (mrc_ctl.h): an EV profile on the built-in format, a congestion control profile.
struct ev_profile_options {
    std::uint64_t id = 0;
    ev_profile_mode mode = ev_profile_mode::automatic;
    std::optional<std::uint32_t> count; // EVs; auto: as many as there are paths, or as are listed
    std::uint32_t min_active = 1;
    std::vector<std::int64_t> evs;                 // listed: plane in bits 2:0, uplink in 10:3
    std::vector<std::vector<std::int64_t>> fields; // generated: width, init, min, max, mask each
};

struct cc_profile_options {
    std::uint64_t id = 0;
    bool nscc = true; // else no algorithm
    bool disable_qa = false;
    // auto: derived from [transport]
    std::optional<std::uint32_t> adjust_bytes_threshold;
    std::optional<std::uint32_t> adjust_period_threshold_ns;
    std::optional<std::uint32_t> base_rtt_ns;
    std::optional<float> eta;
    std::optional<float> fi;
    std::optional<float> fi_scale;
    std::optional<float> gamma;
    std::optional<float> max_md_jump;
    std::optional<std::uint32_t> max_cwnd; // bytes; 0: 1.5 times what is in flight at full speed
    std::optional<std::uint8_t> qa_gate;
    std::optional<std::uint32_t> qa_threshold_ns;
    std::optional<std::uint32_t> target_delay_ns;
};

struct daemon_config {
    daemon_options daemon;
    host_options host;
    fabric_options fabric;
    std::vector<port_options> ports;  // at least one; planes are unique
    std::vector<host_entry> hosts;    // of a direct fabric: those that this one speaks to, and maybe itself
    std::vector<socket_host> sockets; // hosts and ordinary addresses are unique
    worker_config worker;
    transmit_options transmit;
    transport_options transport;
    wire_options wire;
    fabric_map_options fabric_map;
    peer_defaults peers;
    limit_options limits;
    table_options tables;
    std::vector<ev_profile_options> ev_profiles; // ids are unique
    std::vector<cc_profile_options> cc_profiles;

    options::origins origin; // where it was read from, and what stood there
};

using config_error = options::error;
template <class T>
using config_result = options::result<T>;

[[nodiscard]] config_result<daemon_config> load_config(const std::string &path);
// `name` stands for the file in errors and in daemon_config::origin.
[[nodiscard]] config_result<daemon_config> parse_config(std::string_view text, const std::string &name);

// The effective configuration as TOML that parse_config accepts, each line with the origin of its value as a comment.
[[nodiscard]] std::string print_config(const daemon_config &config);

// Where a daemon keeps that for others to read: beside its socket, mrcd.toml for mrcd.sock.
[[nodiscard]] std::filesystem::path config_in_force(const std::filesystem::path &socket);

} // namespace mrc::service
