// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/peer/judgement.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mrc::doctor
{

namespace
{

class plane_judge
{
public:
    plane_judge(const std::string &peer, const peer_plane_evidence &seen, std::vector<finding> &to)
        : peer_{peer}, seen_{seen}, to_{to}
    {
    }

    void judge()
    {
        if (!seen_.has_carrier) {
            add("carrier", state::broken, "no carrier", "the plane carries nothing",
                fmt::format("ip link set dev {} up  # and check the cable", seen_.way.device));
            return;
        }
        const bool is_twice = judge_addresses();
        if (!seen_.echoes && seen_.far_macs.empty()) {
            judge_silence();
            return;
        }
        judge_mtu();
        judge_mrc(is_twice);
    }

private:
    void add(const char *probe, state result, std::string found, std::string cost = {}, std::string remedy = {})
    {
        to_.push_back({.where = scope::peer,
                       .probe = probe,
                       .on = seen_.way.device,
                       .result = result,
                       .found = std::move(found),
                       .cost = std::move(cost),
                       .remedy = std::move(remedy)});
    }

    void add_twice(const mrc_ip &address, const std::set<service::mac_address> &macs, const char *whose)
    {
        std::vector<std::string> texts;
        texts.reserve(macs.size());
        for (const service::mac_address &mac : macs)
            texts.push_back(service::to_text(mac));
        add("address_in_use", state::broken,
            fmt::format("{} {} is also that of {}", whose, service::to_text(address), fmt::join(texts, " and ")),
            "packets go to whichever host answered last, and both lose some",
            "# give each host an address of its own; of copies of a disk one needs a new /etc/machine-id, and setup "
            "again");
    }

    bool judge_addresses()
    {
        if (!seen_.own_macs.empty())
            add_twice(seen_.way.own, seen_.own_macs, "this host's");
        if (seen_.far_macs.size() > 1)
            add_twice(seen_.way.far, seen_.far_macs, "the peer's");
        return !seen_.own_macs.empty() || seen_.far_macs.size() > 1;
    }

    void judge_silence()
    {
        if (seen_.leads_to)
            add("cabling", state::broken,
                fmt::format("leads to plane {} of {}, not to plane {}", *seen_.leads_to, peer_, seen_.way.plane),
                "planes are cabled crosswise: no packet finds its address",
                "# exchange the cables, or the planes of the ports in one host's configuration (mrcctl setup does)");
        else if (seen_.calls_routers)
            add_srv6();
        else
            add("neighbour", state::broken, fmt::format("nobody has {} here", service::to_text(seen_.way.far)),
                fmt::format("the plane does not lead to {}", peer_),
                fmt::format("# look at the cable and the switch, and on {}: ip address, mrcctl port list", peer_));
    }

    void judge_mtu()
    {
        if (!seen_.echoes)
            add("mtu", state::untried, "echo requests are not answered: ICMPv6 is dropped");
        else if (seen_.carries < seen_.way.mtu)
            add("mtu", state::broken, fmt::format("carries {} bytes of this port's {}", seen_.carries, seen_.way.mtu),
                "larger packets are lost, and a plane that loses them is left",
                fmt::format("ip link set dev {} mtu {}  # on both hosts; or give the switches and {} the larger one",
                            seen_.way.device, seen_.carries, peer_));
    }

    void add_srv6()
    {
        add("mode", state::broken, fmt::format("{} looks for a leaf switch here: it runs in SRv6 mode", peer_),
            "this host sends without an outer header, and the peer takes no such packets",
            fmt::format(R"(# on {}, [fabric]: mode = "direct"; or "srv6" on both)", peer_));
    }

    void judge_mrc(bool is_twice)
    {
        const auto &probes = seen_.probes;
        if (probes && probes->answered > 0)
            judge_answers(*probes);
        else if (seen_.refuses_mrc && seen_.calls_routers)
            add_srv6();
        else if (!probes)
            add("mrc", state::untried,
                seen_.unprobed.empty() ? "no MRC probes were sent"
                                       : fmt::format("no MRC probes were sent: {}", seen_.unprobed));
        else if (seen_.refuses_mrc)
            add("mode", state::broken,
                fmt::format("{} takes no MRC at {}: UDP port 4791 is closed", peer_, service::to_text(seen_.way.far)),
                "no mrcd runs there, or one in SRv6 mode while this host is in direct mode, or it does not list this "
                "one",
                fmt::format("# on {}: mrcctl status; mrcctl hosts; and in its [fabric]: mode = \"direct\"", peer_));
        else if (!is_twice)
            add("firewall", state::broken,
                fmt::format("none of {} MRC probes is answered, and ICMPv6 arrives", probes->sent),
                fmt::format("something drops UDP port 4791 between the hosts, or {} does not list this one", peer_),
                fmt::format("# let UDP port 4791 through; on {}: mrcctl hosts, mrcctl counters (rx_drop_unknown_peer)",
                            peer_));
    }

    // A daemon takes its peers' packets alone: that the port is closed to others says nothing then.
    void judge_answers(const probe_count &probes)
    {
        if (probes.answered < probes.sent)
            add("mrc", state::slower, fmt::format("{} of {} probes are answered", probes.answered, probes.sent),
                "some paths of the plane lose packets", "mrcctl path list --peer " + peer_);
        else
            add("mrc", state::works,
                fmt::format("{} of {} probes are answered, {:.0f} us", probes.answered, probes.sent,
                            static_cast<double>(probes.least_rtt_ns) / 1000));
    }

    const std::string &peer_;
    const peer_plane_evidence &seen_;
    std::vector<finding> &to_;
};

} // namespace

std::vector<finding> judge_peer(const std::string &peer, std::span<const peer_plane_evidence> planes)
{
    std::vector<finding> findings;
    if (!planes.empty() && std::ranges::none_of(planes, &peer_plane_evidence::has_carrier))
        findings.push_back({.where = scope::peer,
                            .probe = "carrier",
                            .on = "host",
                            .result = state::broken,
                            .found = "no port has carrier",
                            .cost = "no plane carries anything",
                            .remedy = "ip -brief link  # then look at the cables, and set the ports up"});
    for (const peer_plane_evidence &plane : planes)
        plane_judge{peer, plane, findings}.judge();
    return findings;
}

} // namespace mrc::doctor
