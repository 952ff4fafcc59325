// SPDX-License-Identifier: Apache-2.0
#include "tools/peer_probe/peer_probe.h"

#include <algorithm>
#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "mrc/abi/maps.h"
#include "tools/mrcctl/device.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/probe.h"

namespace mrc::ctl
{

namespace
{

constexpr unsigned patience_ms = 500;
constexpr unsigned rounds = 2; // the first finds the way

std::optional<controller_device> device_of(const std::string &instance)
{
    try {
        return std::optional<controller_device>{std::in_place, instance};
    } catch (const ctl_error &) {
        return std::nullopt; // none runs
    }
}

// A daemon that has no way to the peer sends nothing: a probe of each plane that is lost.
boost::json::array probed_rows(const controller_device &device, const probe_options &options)
{
    try {
        return send_probes(device, options).rows;
    } catch (const ctl_error &) {
        boost::json::array lost;
        for (unsigned port = 1; port <= MRC_MAX_PORTS; ++port)
            lost.push_back(boost::json::object{{"port", port}, {"answered", 0}});
        return lost;
    }
}

} // namespace

std::map<unsigned, doctor::probe_count> probe_planes(const std::string &instance, const std::string &address)
{
    std::map<unsigned, doctor::probe_count> planes;
    const auto device = device_of(instance);
    if (!device)
        return planes;
    probe_options options;
    options.destination = address;
    options.count = rounds;
    options.timeout_ms = patience_ms;
    for (const auto &each : probed_rows(*device, options)) {
        const auto &row = each.as_object();
        doctor::probe_count &plane = planes[row.at("port").to_number<unsigned>() - 1];
        ++plane.sent;
        if (row.at("answered").to_number<unsigned>() == 0)
            continue;
        const auto rtt_ns = row.at("rtt_min_ns").to_number<std::uint64_t>();
        plane.least_rtt_ns = plane.answered == 0 ? rtt_ns : std::min(plane.least_rtt_ns, rtt_ns);
        ++plane.answered;
    }
    return planes;
}

} // namespace mrc::ctl
