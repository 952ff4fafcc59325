// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc_perf_endpoint.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "datapath/region_table.h"
#include "protocol/qp_config.h"
#include "tools/mrc_perf_error.h"

namespace mrc::perf
{

namespace
{

template <typename T>
T or_throw(service::session_result<T> result, const char *what)
{
    if (!result)
        throw perf_error{fmt::format("{}: {}", what, result.error().text)};
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

service::session open_session(const std::string &socket_path)
{
    if (!socket_path.empty())
        return or_throw(service::session::open(socket_path), "no session");
    return or_throw(service::session::open(or_throw(service::session::default_socket(), "no session")), "no session");
}

std::string failure_text(protocol::completion_status status, std::uint32_t qpn)
{
    using enum protocol::completion_status;
    switch (status) {
    case success:
        break;
    case remote_access_error:
        return fmt::format("QP {}: the far end refused the memory access", qpn);
    case remote_operation_error:
        return fmt::format("QP {}: the far end could not complete a WRITE", qpn);
    case remote_invalid_request:
        return fmt::format("QP {}: the far end refused the request", qpn);
    case retry_exceeded:
        return fmt::format("QP {}: the far end does not answer, all retries are used up", qpn);
    case flushed:
        return fmt::format("QP {}: mrcd gave the queue pair up", qpn);
    case local_protection_error:
        return fmt::format("QP {}: mrcd refused this end's own memory", qpn);
    }
    return fmt::format("QP {}: unknown completion status {}", qpn, static_cast<unsigned>(status));
}

// What all queue pairs of a run add up to; path states belong to the path group that they share.
void add(service::qp_report &sum, const service::qp_report &one)
{
    using service::qp_report;
    static constexpr std::uint64_t qp_report::*counters[] = {
        &qp_report::rx_packets, &qp_report::rx_bytes,      &qp_report::rx_duplicates, &qp_report::rx_refused,
        &qp_report::tx_packets, &qp_report::tx_bytes,      &qp_report::retransmits,   &qp_report::spurious,
        &qp_report::timeouts,   &qp_report::losses,        &qp_report::nacks,         &qp_report::sacks_sent,
        &qp_report::cwnd_bytes, &qp_report::sacks_received};
    for (const auto counter : counters)
        sum.*counter += one.*counter;
    sum.longest_stall_ns = std::max(sum.longest_stall_ns, one.longest_stall_ns);
    sum.smoothed_rtt_ns = std::max(sum.smoothed_rtt_ns, one.smoothed_rtt_ns);
    std::ranges::copy(one.plane_tx_packets, sum.plane_tx_packets);
    std::ranges::copy(one.plane_rx_packets, sum.plane_rx_packets);
    sum.state = one.state;
    sum.paths_good = one.paths_good;
    sum.paths_skip = one.paths_skip;
    sum.paths_assumed_bad = one.paths_assumed_bad;
    sum.paths_denied = one.paths_denied;
}

void subtract(traffic &from, const traffic &first)
{
    using service::status_report;
    for (std::size_t plane = 0; plane < std::size(first.sum.plane_tx_packets); ++plane) {
        from.sum.plane_tx_packets[plane] -= first.sum.plane_tx_packets[plane];
        from.sum.plane_rx_packets[plane] -= first.sum.plane_rx_packets[plane];
    }
    static constexpr std::uint64_t status_report::*counters[] = {
        &status_report::received,      &status_report::dropped,          &status_report::bad_icrc,
        &status_report::transmit_sent, &status_report::transmit_refused, &status_report::socket_dropped};
    for (const auto counter : counters)
        from.host.*counter -= first.host.*counter;
}

} // namespace

std::string completion_word(std::uint32_t status)
{
    static constexpr const char *words[] = {
        "success", "remote_access_error",   "remote_operation_error", "remote_invalid_request", "retry_exceeded",
        "flushed", "local_protection_error"};
    return status < std::size(words) ? words[status] : "unknown";
}

endpoint::endpoint(const std::string &socket_path) : session_{open_session(socket_path)} {}

void endpoint::prepare(const test_plan &plan, bool sends, bool receives)
{
    plan_ = plan;
    if (sends) {
        send_memory_ = or_throw(session_.allocate(plan.memory_bytes(), datapath::access_local_read), "memory");
        std::ranges::fill(send_memory_.bytes(), std::byte{0x5a}); // pages are there before the clock runs
    }
    if (receives) {
        receive_memory_ = or_throw(session_.allocate(plan.memory_bytes(), datapath::access_remote_write), "memory");
        std::ranges::fill(receive_memory_.bytes(), std::byte{0});
    }
    for (std::uint32_t i = 0; i < plan.qps; ++i)
        qps_.push_back(or_throw(session_.create_qp(std::bit_ceil(plan.window)), "queue pair"));
}

void endpoint::connect(const side &peer)
{
    peer_ = peer;
    for (std::size_t i = 0; i < qps_.size(); ++i)
        or_throw(session_.connect(qps_[i], {.qpn = 0,
                                            .peer_qpn = peer.qps[i].qpn,
                                            .peer_psn = peer.qps[i].first_psn,
                                            .timeout = plan_.timeout,
                                            .linear = plan_.linear,
                                            .exponential = plan_.exponential,
                                            .peer = peer.address}),
                 "connecting a queue pair");
    (void)query(); // where this run's counters begin
}

side endpoint::identity() const
{
    side own{.address = host().address,
             .payload_bytes = host().payload_bytes,
             .planes = host().planes,
             .remote_va = receive_memory_.address(),
             .rkey = receive_memory_.key(),
             .qps = {}};
    for (const auto &qp : qps_)
        own.qps.push_back({.qpn = qp.qpn(), .first_psn = qp.first_psn()});
    return own;
}

std::uint64_t endpoint::offset(std::uint32_t qp, std::uint64_t slot) const
{
    return (std::uint64_t{qp} * plan_.window + slot) * plan_.slot_bytes();
}

std::span<std::byte> endpoint::send_slot(std::uint32_t qp, std::uint64_t slot) const
{
    return send_memory_.bytes().subspan(offset(qp, slot), plan_.size);
}

std::span<std::byte> endpoint::receive_slot(std::uint32_t qp, std::uint64_t slot) const
{
    return receive_memory_.bytes().subspan(offset(qp, slot), plan_.size);
}

void endpoint::write(std::uint32_t qp, std::uint64_t from_slot, std::uint64_t to_slot, std::uint64_t bytes)
{
    const datapath::send_entry entry{.id = 0,
                                     .local_address = send_memory_.address() + offset(qp, from_slot),
                                     .length = bytes,
                                     .remote_address = peer_.remote_va + offset(qp, to_slot),
                                     .lkey = send_memory_.key(),
                                     .rkey = peer_.rkey,
                                     .flags = datapath::send_signaled};
    if (!session_.post(qps_[qp], entry))
        throw perf_error{fmt::format("QP {}: the send queue is full", qps_[qp].qpn())};
}

std::uint32_t endpoint::completed(std::uint32_t qp)
{
    std::uint32_t count = 0;
    while (const auto done = session_.poll(qps_[qp])) {
        if (const auto status = static_cast<protocol::completion_status>(done->status);
            status != protocol::completion_status::success)
            throw perf_error{failure_text(status, qps_[qp].qpn()), completion_word(done->status)};
        ++count;
    }
    return count;
}

void endpoint::wait(std::span<const int> others, std::chrono::milliseconds limit)
{
    if (!session_.wait(qps_, others, limit))
        check_daemon();
}

void endpoint::check_daemon() const
{
    if (session_.daemon_gone())
        throw perf_error{"mrcd of this host is gone", "daemon_gone"};
}

traffic endpoint::query()
{
    traffic result{.sum = {}, .host = or_throw(session_.status(), "query"), .planes = host().planes};
    for (const auto &qp : qps_)
        add(result.sum, or_throw(session_.query(qp), "query"));
    if (!first_)
        first_ = result;
    subtract(result, *first_);
    return result;
}

void endpoint::reset_stall()
{
    for (const auto &qp : qps_)
        or_throw(session_.reset_progress(qp), "query");
}

} // namespace mrc::perf
