// SPDX-License-Identifier: Apache-2.0
#include "service/drain.h"
#include "service/log.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mrc::service
{

using namespace std::chrono_literals;

namespace
{

using clock = boost::asio::steady_timer::clock_type;

// Longer than the worker's reports to the `qps` rows are apart (10 ms), and than a host needs to answer a packet.
constexpr auto interval = 50ms;

} // namespace

void drain::start(std::chrono::milliseconds most, std::function<void()> done)
{
    done_ = std::move(done);
    until_ = clock::now() + most;
    if (const auto now = ask_())
        wait(*now);
    else
        done_();
}

void drain::wait(std::uint64_t before)
{
    timer_.expires_after(std::min<clock::duration>(interval, until_ - clock::now()));
    timer_.async_wait([this, before](const boost::system::error_code &error) {
        if (error)
            return;
        const auto now = ask_();
        const bool late = clock::now() >= until_;
        if (!now || *now == before || late) {
            log::info("{}", late ? "time is over: what is in flight is lost" : "nothing is in flight");
            done_();
            return;
        }
        wait(*now);
    });
}

std::optional<std::uint64_t> traffic_of(const worker_crew &workers, const kernel::mapped_array<mrc_qp_row> &qps)
{
    std::optional<std::uint64_t> packets;
    workers.call_each([&](unsigned number, datapath::worker &worker) {
        for (std::size_t row = 0; row < qps.size(); ++row) {
            const mrc_qp_row &qp = qps[row];
            if (qp.qpn == 0 || qp.worker != number)
                continue;
            packets = packets.value_or(0) + qp.rx_packets + qp.tx_packets + qp.retransmits;
            if (qp.inflight_bytes > 0)
                *packets += worker.counters().loops; // not twice the same
        }
    });
    return packets;
}

} // namespace mrc::service
