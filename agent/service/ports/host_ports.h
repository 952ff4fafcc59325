// SPDX-License-Identifier: Apache-2.0
// The host's ports from configuration to running: what the kernel says of them, each worker's AF_XDP sockets on every
// queue and its transmit engines, the `ports` rows and the one plane mask.
//
// A port's device may be missing at the start, or go and come back, the same or another one of its name: its plane is
// out of use until the device is taken in, with sockets and a program of its own (port_watch.h).
#pragma once

#include <array>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datapath/af_xdp_transmit.h"
#include "datapath/capture_tap.h"
#include "datapath/mixed_transmit.h"
#include "datapath/transmit_costs.h"
#include "datapath/xdp_transmit.h"
#include "kernel/host_programs.h"
#include "service/config/config.h"
#include "service/fabric_rules.h"
#include "service/ports/link_monitor.h"
#include "service/ports/port_modes.h"
#include "service/ports/port_plan.h"
#include "service/ports/port_preparation.h"
#include "service/ports/port_sockets.h"

namespace mrc::service
{

// The ports as clients see them, at one moment.
struct ports_view {
    protocol::plane_mask up; // as the kernel has them
    protocol::plane_mask enabled{0xFF};
    std::array<std::uint32_t, MRC_MAX_PORTS> mtu{}; // by plane
    std::uint64_t guid = 0;                         // EUI-64 of the first port's MAC address, in network order
};

// What sessions and the controller need of the ports.
class port_controls
{
public:
    port_controls() = default;
    port_controls(const port_controls &) = delete;
    port_controls &operator=(const port_controls &) = delete;
    virtual ~port_controls() = default;

    [[nodiscard]] virtual datapath::transmit_counters transmitted(unsigned worker) const = 0; // on its thread
    [[nodiscard]] virtual std::uint64_t socket_drops() const = 0;
    [[nodiscard]] virtual ports_view view() const = 0;
    // Which ports may be used at all (the controller's word); shown in their rows and the plane mask.
    virtual void enable(protocol::plane_mask enabled) = 0;
};

class host_ports final : public port_controls
{
public:
    // Binds the sockets and builds the engines. Throws startup_error.
    host_ports(const daemon_config &config, const fabric_rules &rules, kernel::host_programs &programs,
               const port_plan &plan, const host_modes &modes, const link_monitor &links,
               port_preparation &preparation);

    [[nodiscard]] port_sockets::socket_list &sockets(unsigned worker) { return sockets_.all(worker); }
    // By port row.
    [[nodiscard]] const std::vector<datapath::transmit_engine *> &engines(unsigned worker) const
    {
        return ways_out_[worker].engines;
    }
    // None where no port uses XDP transmit.
    [[nodiscard]] datapath::live_calls *live_calls(unsigned worker)
    {
        const auto &xdp = ways_out_[worker].xdp;
        return xdp ? &xdp->calls() : nullptr;
    }
    // One line per port for the log: mode, engine, copies.
    [[nodiscard]] std::string describe(const port_options &port) const;
    [[nodiscard]] datapath::transmit_counters transmitted(unsigned worker) const override;
    // The following from any thread.
    [[nodiscard]] std::uint64_t socket_drops() const override;
    [[nodiscard]] ports_view view() const override;
    // What follows from what the kernel says of the ports.
    struct ways_out {
        protocol::plane_mask up;                  // planes that are usable now
        std::vector<protocol::plane_mask> linked; // of them, direct: where the next hop to each listed host is known
        bool keeps_next_hops = false;             // that the kernel has otherwise: to be looked at again
    };
    // Writes it into the rows of the ports and next hops, too.
    ways_out update(const link_monitor &links);
    void enable(protocol::plane_mask enabled) override;

    // Has a device that its sockets and program are not on; `port` counts the configured ones.
    [[nodiscard]] bool is_unattached(std::size_t port, const port_condition &status) const;
    // Runs a task while all workers rest, and waits for it.
    using at_rest = std::function<void(const std::function<void()> &)>;
    // Puts sockets and program on that device; update() shows it afterwards. Returns how it is used, or why it cannot
    // be: what was bound is gone then, and it may be tried again. Not before the workers use the sockets.
    [[nodiscard]] std::expected<std::string, std::string> take_in(std::size_t port, const port_condition &status,
                                                                  const at_rest &run);

private:
    [[nodiscard]] mrc_port_reason reason_of(std::size_t port, const port_condition &status);
    // Where frames of a port go.
    struct frame_targets {
        std::optional<mac_address> gateway;
        std::vector<std::optional<mac_address>> hosts; // direct: by listed host
        bool are_kept = false;                         // some of them, which the kernel has otherwise
    };
    [[nodiscard]] frame_targets targets_of(std::size_t port, const port_condition &status, mrc_port_reason reason);
    [[nodiscard]] bool is_confirmed(std::uint32_t next_hop) const;
    void show_targets(protocol::plane_index plane, const frame_targets &targets, ways_out &out);
    void show_reason(std::uint32_t row);
    void show_plane_mask();
    void bind_sockets();
    void measure_costs(const host_modes &modes);
    [[nodiscard]] datapath::slow_devices slow_devices() const;
    void build_engines(unsigned worker);
    [[nodiscard]] port_sockets::binding binding_of(std::size_t port) const;
    void change_sockets(std::uint32_t row, port_sockets::fresh_sockets fresh);
    [[nodiscard]] std::uint64_t drops_of_all() const; // sockets there are; `changing_` is held

    const daemon_config &config_;
    const fabric_rules &rules_;
    kernel::host_programs &programs_;
    port_plan plan_;
    port_preparation &preparation_;
    // By configured port: how it is used, in a few words each.
    struct use {
        std::uint32_t queues = 1; // that there is memory for
        bool uses_xdp = true;     // to transmit
        bool force_copy = false;
    };
    std::vector<use> uses_;
    std::vector<port_condition> attached_; // what programs and sockets were put on, by configured port
    port_sockets sockets_;
    datapath::capture_tap capture_;
    std::array<datapath::port_costs, MRC_MAX_PORTS> costs_{}; // by port row
    struct worker_engines {
        std::unique_ptr<datapath::xdp_transmit> xdp{};
        std::unique_ptr<datapath::af_xdp_transmit> af_xdp{};
        std::unique_ptr<datapath::mixed_transmit> mixed{};  // of both
        std::vector<datapath::transmit_engine *> engines{}; // by port row
    };
    std::vector<worker_engines> ways_out_; // by worker
    mutable std::mutex changing_;          // of sockets, of what follows, and of the rows
    std::uint64_t drops_of_removed_ = 0;   // sockets
    ports_view view_;
    std::array<mrc_port_reason, MRC_MAX_PORTS> reasons_{}; // of the kernel
    std::set<std::uint32_t> kept_hops_;                    // rows of next_hops of which it was said
};

// Attaches host_rx to all ports, in the place of the programs that `modes` holds there since they were tried, and logs
// how each port is used.
void attach_ports(const daemon_config &config, kernel::host_programs &programs, const host_ports &ports,
                  host_modes &modes);

} // namespace mrc::service
