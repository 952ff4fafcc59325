// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/settings.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kernel/probes/device.h"
#include "service/ports/nic_drivers.h"
#include "service/ports/port_plan.h"
#include "service/ports/port_preparation.h"

namespace mrc::doctor
{

namespace
{

std::string describe(const service::nic_driver &driver)
{
    return fmt::format(
        "{}: native XDP up to an MTU of {} in one buffer, {}several buffers, {}room in front of packets; known of "
        "its source, not tried",
        driver.name, driver.single_buffer_mtu, driver.several_buffers ? "" : "no ",
        driver.headroom ? "" : "perhaps no ");
}

} // namespace

finding examine_link(const subject &of)
{
    if (kernel::probes::is_running(of.device))
        return of.make("link", state::works, of.driver.empty() ? "up" : of.driver + ", up");
    return of.make("link", state::slower, "down, or no carrier",
                   {.cost = "the port's plane carries nothing until the link is up",
                    .remedy = fmt::format("ip link set dev {} up", of.device)});
}

finding examine_mtu(const subject &of)
{
    // As configured, else what `auto` takes of a port whose packets just fit one buffer of its driver.
    const std::uint32_t wanted = service::payload_of(of.config, service::largest_single_buffer_mtu(of.driver));
    const std::string found = fmt::format("MTU {}", of.mtu);
    const std::uint32_t enough = wanted + service::packet_overhead(of.config.fabric.mode);
    const std::string remedy = fmt::format("ip link set dev {} mtu {}", of.device, enough);
    if (!service::mtu_refusal(of.config, of.mtu).empty())
        return of.make(
            "mtu", state::broken, found,
            {.cost = "mrcd ends at its start: packets of this payload do not fit the port", .remedy = remedy});
    const std::uint32_t fits = service::payload_of(of.config, of.mtu);
    const std::string payload = fmt::format("{}, {} bytes of payload a packet", found, fits);
    if (fits >= wanted)
        return of.make("mtu", state::works, payload);
    return of.make("mtu", state::slower, payload,
                   {.cost = "smaller packets on all ports, so more of them for the same data", .remedy = remedy});
}

std::optional<finding> examine_driver(const subject &of, bool several_buffers, std::uint32_t cpus)
{
    const service::nic_driver *const known = service::find_nic_driver(of.driver);
    if (known == nullptr)
        return std::nullopt;
    const std::string found = describe(*known);
    if (!known->headroom && of.port.mode == service::attach_mode::native)
        return of.make(
            "driver", state::broken, found,
            {.cost = "every MRC packet is dropped where the receive program has no room for what it writes there",
             .remedy = by_hand(of.config.origin.file, "[port]", fmt::format("mode = \"auto\" for {}", of.device))});
    if (!known->headroom)
        return of.make(
            "driver", state::slower, found,
            {.cost = "mrcd takes generic XDP, several times slower: the driver's own might drop every packet",
             .remedy = {}});
    if (service::refuses_mtu(of.driver, of.mtu, several_buffers))
        return of.make("driver", state::slower, found,
                       {.cost = fmt::format("refuses native XDP at the port's MTU of {}; generic XDP is several times "
                                            "slower",
                                            of.mtu),
                        .remedy = fmt::format("ip link set dev {} mtu {}", of.device,
                                              service::largest_single_buffer_mtu(of.driver))});
    const std::uint32_t queues = kernel::probes::receive_queues(of.device);
    if (known->own_queue_only && queues < cpus && of.config.transmit.engine == service::engine_kind::xdp)
        return of.make("driver", state::slower, found,
                       {.cost = fmt::format("may lose what mrcd sends by XDP on CPUs from {} on: {} queues, {} CPUs",
                                            queues, queues, cpus),
                        .remedy = fmt::format("ethtool -L {} combined {}", of.device, cpus)});
    return of.make("driver", state::works, found);
}

finding examine_checksum_offload(const subject &of)
{
    const kernel::probes::offloads found = kernel::probes::offloads_of(of.device);
    const bool unfinished = found.transmit_checksum && service::leaves_checksums_unfinished(of.driver);
    return of.make(
        "checksum_offload", state::works,
        fmt::format("checksums {}, segmentation {}{}", found.transmit_checksum ? "on" : "off",
                    found.segmentation ? "on" : "off",
                    unfinished ? "; the device computes none, mrcd has the kernel do it while it runs" : ""));
}

finding examine_receive_offload(const subject &of)
{
    const kernel::probes::offloads found = kernel::probes::offloads_of(of.device);
    const std::string joining = service::joining_offloads(found);
    return of.make("receive_offload", joining.empty() ? state::works : state::slower,
                   fmt::format("LRO {}, GRO-HW {}, GRO {}", found.large_receive ? "on" : "off",
                               found.hardware_generic_receive ? "on" : "off", found.generic_receive ? "on" : "off"),
                   {.cost = "the NIC joins packets before XDP sees them; most drivers refuse native XDP then",
                    .remedy = fmt::format("ethtool -K {} {}", of.device, joining)});
}

finding examine_steering(const subject &of)
{
    const std::uint32_t all = kernel::probes::receive_queues(of.device);
    const std::vector<std::uint32_t> table = kernel::probes::rss_table(of.device);
    const std::string found =
        fmt::format("{} of {} queues served, {}, ntuple filters {}", of.queues, all,
                    table.empty() ? "no RSS table" : fmt::format("RSS to {}", std::ranges::max(table) + 1),
                    kernel::probes::offloads_of(of.device).ntuple_filters ? "on" : "off");
    const std::string kind = of.driver == "veth" ? "rx" : "combined";
    const bool can_limit = !table.empty() || kernel::probes::channels_of(of.device);
    if (!of.port.queues && all > MRC_MAX_QUEUES && can_limit)
        return of.make("receive_steering", state::works,
                       fmt::format("{}; mrcd keeps RSS to the first {} while it runs", found, MRC_MAX_QUEUES));
    const bool kept_off = !table.empty() && std::ranges::max(table) < of.queues;
    if (of.queues >= all || kept_off)
        return of.make("receive_steering", state::works, found);
    return of.make("receive_steering", state::broken, found,
                   {.cost = "MRC packets that arrive on the other queues are dropped",
                    .remedy = table.empty() ? fmt::format("ethtool -L {} {} {}", of.device, kind, of.queues)
                                            : fmt::format("ethtool -X {} equal {}", of.device, of.queues)});
}

} // namespace mrc::doctor
