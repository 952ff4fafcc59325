// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/traffic.h"

#include <algorithm>
#include <cstring>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

void control(mrc_qp *qp, std::uint32_t page, bool reset_stall)
{
    const mrc_report_control wanted{
        .version = MRC_REPORT_VERSION, .page = page, .reset_stall = reset_stall ? 1U : 0U, .reserved = {}};
    mrc_qp_attr attributes{};
    static_assert(sizeof(wanted) == sizeof(attributes.vendor_cfg));
    std::memcpy(attributes.vendor_cfg, &wanted, sizeof(wanted));
    if (const int error = ::mrc_modify_qp(qp, nullptr, 0, &attributes, MRC_QP_VENDOR_CFG); error != 0)
        throw perf_error{fmt::format("query: {}", std::strerror(error))};
}

template <typename Page>
Page page_of(mrc_qp *qp, mrc_report_page number)
{
    control(qp, number, false);
    mrc_qp_attr attributes{};
    if (const int error = ::mrc_query_qp(qp, nullptr, 0, &attributes, MRC_QP_VENDOR_CFG, nullptr); error != 0)
        throw perf_error{fmt::format("query: {}", std::strerror(error))};
    Page page;
    static_assert(sizeof(page) == sizeof(attributes.vendor_cfg));
    std::memcpy(&page, attributes.vendor_cfg, sizeof(page));
    if (page.version != MRC_REPORT_VERSION)
        throw perf_error{
            fmt::format("libmrc reports by version {}, this mrc-perf reads {}", page.version, MRC_REPORT_VERSION)};
    return page;
}

void add(traffic &sum, const mrc_qp_report &one)
{
    sum.tx_packets += one.tx_packets;
    sum.rx_packets += one.rx_packets;
    sum.retransmits += one.retransmits;
    sum.cwnd_bytes += one.cwnd_bytes;
    sum.spurious += one.spurious;
    sum.timeouts += one.timeouts;
    sum.losses += one.losses;
    sum.nacks += one.nacks;
    sum.longest_stall_us = std::max<std::uint64_t>(sum.longest_stall_us, one.longest_stall_us);
    sum.smoothed_rtt_ns = std::max<std::uint64_t>(sum.smoothed_rtt_ns, one.smoothed_rtt_ns);
    sum.paths_good = one.paths_good;
    sum.paths_skip = one.paths_skip;
    sum.paths_kept = one.paths_kept;
    sum.paths_assumed_bad = one.paths_assumed_bad;
    sum.paths_denied = one.paths_denied;
    sum.planes = std::min<std::uint32_t>(one.planes, MRC_REPORT_MAX_PLANES);
    std::ranges::copy(one.plane_tx_packets, sum.plane_tx_packets.begin());
    std::ranges::copy(one.plane_rx_packets, sum.plane_rx_packets.begin());
}

void add(traffic &sum, const mrc_traffic_report &one)
{
    sum.tx_bytes += one.tx_bytes;
    sum.rx_bytes += one.rx_bytes;
    sum.rx_duplicates += one.rx_duplicates;
    sum.rx_refused += one.rx_refused;
    sum.sacks_sent += one.sacks_sent;
    sum.sacks_received += one.sacks_received;
}

double as_microseconds(std::uint64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) / 1000.0;
}

} // namespace

traffic traffic_of(std::span<const qp_handle> qps)
{
    traffic sum;
    for (const auto &qp : qps) {
        add(sum, page_of<mrc_qp_report>(qp.get(), MRC_REPORT_PAGE_QP));
        add(sum, page_of<mrc_traffic_report>(qp.get(), MRC_REPORT_PAGE_TRAFFIC));
    }
    if (!qps.empty())
        sum.host = page_of<mrc_host_report>(qps.front().get(), MRC_REPORT_PAGE_HOST);
    return sum;
}

traffic since(const traffic &first, traffic now)
{
    static constexpr std::uint64_t traffic::*counters[] = {
        &traffic::tx_packets,   &traffic::tx_bytes,   &traffic::retransmits, &traffic::spurious,
        &traffic::timeouts,     &traffic::losses,     &traffic::nacks,       &traffic::rx_packets,
        &traffic::rx_bytes,     &traffic::rx_refused, &traffic::sacks_sent,  &traffic::sacks_received,
        &traffic::rx_duplicates};
    for (const auto counter : counters)
        now.*counter -= first.*counter;
    for (std::size_t plane = 0; plane < first.plane_tx_packets.size(); ++plane) {
        now.plane_tx_packets[plane] -= first.plane_tx_packets[plane]; // right also when 32 bits have wrapped
        now.plane_rx_packets[plane] -= first.plane_rx_packets[plane];
    }
    static constexpr std::uint64_t mrc_host_report::*host_counters[] = {
        &mrc_host_report::received,      &mrc_host_report::dropped,          &mrc_host_report::bad_icrc,
        &mrc_host_report::transmit_sent, &mrc_host_report::transmit_refused, &mrc_host_report::socket_dropped};
    for (const auto counter : host_counters)
        now.host.*counter -= first.host.*counter;
    return now;
}

boost::json::object to_json(const traffic &counted)
{
    const auto first_planes = [&](const auto &list) {
        return boost::json::array(list.begin(), list.begin() + counted.planes);
    };
    return {{"tx_packets", counted.tx_packets},
            {"tx_bytes", counted.tx_bytes},
            {"retransmits", counted.retransmits},
            {"spurious", counted.spurious},
            {"timeouts", counted.timeouts},
            {"losses", counted.losses},
            {"nacks", counted.nacks},
            {"rx_packets", counted.rx_packets},
            {"rx_bytes", counted.rx_bytes},
            {"rx_duplicates", counted.rx_duplicates},
            {"rx_refused", counted.rx_refused},
            {"sacks_sent", counted.sacks_sent},
            {"sacks_received", counted.sacks_received},
            {"frames_received", counted.host.received},
            {"frames_dropped", counted.host.dropped},
            {"bad_icrc", counted.host.bad_icrc},
            {"frames_sent", counted.host.transmit_sent},
            {"frames_refused", counted.host.transmit_refused},
            {"socket_dropped", counted.host.socket_dropped},
            {"smoothed_rtt_us", as_microseconds(counted.smoothed_rtt_ns)},
            {"cwnd_bytes", counted.cwnd_bytes},
            {"paths_good", counted.paths_good},
            {"paths_skip", counted.paths_skip},
            {"paths_kept", counted.paths_kept},
            {"paths_assumed_bad", counted.paths_assumed_bad},
            {"paths_denied", counted.paths_denied},
            {"plane_tx_packets", first_planes(counted.plane_tx_packets)},
            {"plane_rx_packets", first_planes(counted.plane_rx_packets)}};
}

std::uint32_t payload_bytes_of(mrc_qp *qp)
{
    return page_of<mrc_traffic_report>(qp, MRC_REPORT_PAGE_TRAFFIC).payload_bytes;
}

void reset_stall_of(mrc_qp *qp)
{
    control(qp, MRC_REPORT_PAGE_QP, true);
}

} // namespace mrc::perf
