// SPDX-License-Identifier: Apache-2.0
#include "sim/worker_model.h"

#include <algorithm>
#include <cmath>

#include "datapath/fair_receive.h"

namespace mrc::sim
{

namespace
{

constexpr std::uint64_t usual_ring = 2048; // as in agent/kernel/xsk_socket_pair.h

double uniform(protocol::random_source &random)
{
    return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

// Of the transport's clock: a host that is woken at the end of a stall finds it over.
picoseconds in_nanoseconds(double time)
{
    return std::llround(time / nanosecond) * nanosecond;
}

} // namespace

std::uint64_t ring_size(const worker_model &model)
{
    return model.ring == 0 ? usual_ring : model.ring;
}

datapath::timer_gate timer_gate_of(const worker_model &model)
{
    const auto rounds = static_cast<std::uint32_t>(ring_size(model) / datapath::receive_batch);
    return datapath::timer_gate{std::max(rounds, 1u)};
}

picoseconds stall_source::next_length()
{
    const double share = uniform(random_);
    std::size_t above = 1;
    while (model_.stalls[above].share < share)
        ++above;
    const stall_quantile &low = model_.stalls[above - 1];
    const stall_quantile &high = model_.stalls[above];
    const double within = (share - low.share) / (high.share - low.share);
    return low.length + in_nanoseconds(within * static_cast<double>(high.length - low.length));
}

picoseconds stall_source::next_interval()
{
    return in_nanoseconds(-std::log(1 - uniform(random_)) * static_cast<double>(model_.stall_every));
}

worker_time::worker_time(const worker_model &model, std::uint64_t seed) : model_{model}, stalls_{model, seed}
{
    if (model_.stall_every != 0)
        stall_begins_ = stalls_.next_interval();
}

std::optional<picoseconds> worker_time::stalled_until(picoseconds now)
{
    if (model_.stall_every == 0)
        return std::nullopt;
    while (stall_ends_ <= now && stall_begins_ <= now) {
        stall_ends_ = stall_begins_ + stalls_.next_length();
        stall_begins_ = stall_ends_ + stalls_.next_interval();
    }
    return now < stall_ends_ ? std::optional{stall_ends_} : std::nullopt;
}

void worker_time::begin_round(picoseconds now, std::uint64_t frames)
{
    busy_until_ = now + model_.round + static_cast<picoseconds>(frames) * model_.frame;
}

} // namespace mrc::sim
