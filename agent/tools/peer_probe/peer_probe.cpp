// SPDX-License-Identifier: Apache-2.0
#include "tools/peer_probe/peer_probe.h"

#include <algorithm>
#include <expected>
#include <map>

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

// A daemon that has no way to the peer sends nothing: a probe of each plane that is lost. Throws ctl_error when none
// can be asked.
boost::json::array probed_rows(const std::string &instance, const probe_options &options)
{
    const controller_device device{instance};
    try {
        return send_probes(device, options).rows;
    } catch (const ctl_error &) {
        const controller_device still_there{instance};
        boost::json::array lost;
        for (unsigned port = 1; port <= MRC_MAX_PORTS; ++port)
            lost.push_back(boost::json::object{{"port", port}, {"answered", 0}});
        return lost;
    }
}

} // namespace

doctor::plane_probes probe_planes(const std::string &instance, const std::string &address)
{
    probe_options options;
    options.destination = address;
    options.count = rounds;
    options.timeout_ms = patience_ms;
    boost::json::array rows;
    try {
        rows = probed_rows(instance, options);
    } catch (const ctl_error &error) {
        return std::unexpected{std::string{error.what()}};
    }
    std::map<unsigned, doctor::probe_count> planes;
    for (const auto &each : rows) {
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
