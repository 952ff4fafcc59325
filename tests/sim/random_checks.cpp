// SPDX-License-Identifier: Apache-2.0
// What must hold during a random scenario and after it.
#include <algorithm>
#include <gtest/gtest.h>

#include "random_transfer.h"

namespace mrc::sim
{

using namespace std::chrono_literals;
using namespace protocol;

void random_transfer::run()
{
    const auto all_done = [this] { return restarts_ == 0 && std::ranges::all_of(streams_, &checked_stream::done); };
    for (checked_stream &each : streams_)
        each.post();
    const bool finished = net_.run(all_done, net_.now() + 60s);
    running_ = false;
    ASSERT_TRUE(finished) << "stuck: " << describe();
    check_end();
    // Late copies find everything done, and change nothing.
    net_.run([] { return false; }, net_.now() + 3ms);
    check_end();
    if (::testing::Test::HasFailure())
        ADD_FAILURE() << describe();
}

void random_transfer::follow(host &at)
{
    for (checked_stream &each : streams_) {
        each.post();
        each.check();
        if (each.held_by_immediates())
            has(feature::immediates_held);
        if (wide_ && each.fills_window())
            has(feature::window_filled);
    }
    const plane_mask all{(1u << net_.config().planes) - 1};
    const auto doubted = [](const known_host &other) { return !other.planes.suspected().empty(); };
    plane_suspected_ = plane_suspected_ || at.paths.good_planes() != all || std::ranges::any_of(at.others, doubted);
    for (const auto &control : at.controls)
        check_control(*control);
}

void random_transfer::check_control(const congestion_control &control) const
{
    const auto *window = dynamic_cast<const nscc *>(&control);
    if (window == nullptr)
        return;
    EXPECT_GE(window->exact_cwnd(), window->config().mtu);
    // As it was at first: a falling base RTT lowers it, and the window follows with the next SACK that has a sample.
    EXPECT_LE(window->exact_cwnd(), nscc{window->config()}.max_window());
}

void random_transfer::check_end()
{
    for (const checked_stream &each : streams_)
        each.check_end();
    for (const auto &each : net_.hosts())
        check_memory(*each);
    EXPECT_EQ(net_.misdirected(), 0u) << "sent by a port that is down or drained";
    EXPECT_EQ(net_.wire_faults(), 0u) << "a packet changed on its way through the codec";
    for (const auto &each : net_.hosts()) {
        EXPECT_EQ(each->next_deadline(), never) << "a timer is left";
        for (const auto &control : each->controls)
            EXPECT_EQ(control->inflight(), 0) << "a transmission left the flight twice, or never";
        std::uint64_t others = 0; // than first transmissions
        for (const auto &end : each->ends) {
            others += end->qp.counters().retransmits + end->qp.counters().probes_sent;
            EXPECT_EQ(end->qp.counters().rx_malformed, 0u);
            if (end->follows)
                continue;
            EXPECT_EQ(end->qp.counters().rx_out_of_window, 0u);
            EXPECT_EQ(end->qp.counters().sacks_rejected, 0u);
            EXPECT_EQ(end->qp.counters().acks_rejected, 0u);
            EXPECT_EQ(end->qp.counters().rx_no_receive, 0u);
            EXPECT_EQ(end->qp.counters().rx_bad_immediate, 0u);
        }
        // A retransmission avoids the plane of its loss: it takes another plane's turn. So does a probe. All may avoid
        // the same plane: one of its paths reorders.
        const auto [least, most] = std::ranges::minmax(each->frames);
        if (alike() && !plane_suspected_) {
            EXPECT_LE(most - least, 3 * each->ends.size() + most / 10 + others) << "planes carry different loads";
        }
    }
}

// Every byte is the sender's where a write went, and untouched elsewhere.
void random_transfer::check_memory(host &to) const
{
    struct expected_write {
        const write_plan &plan;
        const host &from;
        bool whole = true;
    };
    std::vector<expected_write> into; // in the order of their offsets
    for (const checked_stream &each : streams_)
        if (each.target() == &to)
            for (std::size_t index = 0; index < each.plans().size(); ++index)
                into.push_back({each.plans()[index], *each.source(), index < each.owed()});
    const auto zero = [](std::byte value) { return value == std::byte{0}; };
    const std::span<const std::byte> bytes = to.memory.bytes();
    std::size_t at = 0;
    for (const auto &[plan, from, whole] : into) {
        EXPECT_TRUE(std::ranges::all_of(bytes.subspan(at, plan.offset - at), zero))
            << "bytes outside of writes changed";
        const auto sent = std::span<const std::byte>{from.source}.subspan(plan.offset, plan.bytes);
        const auto got = bytes.subspan(plan.offset, plan.bytes);
        // Of writes behind a refused one, or of a QP that is no more, some packets may have come before it.
        const bool right =
            whole ? std::ranges::equal(sent, got) : std::ranges::equal(sent, got, [&](std::byte a, std::byte b) {
                return zero(b) || (a == b && !plan.forbidden);
            });
        EXPECT_TRUE(right) << "write at " << plan.offset;
        at = plan.offset + plan.bytes;
    }
    EXPECT_TRUE(std::ranges::all_of(bytes.subspan(at), zero)) << "bytes outside of all writes changed";
}

std::array<bool, random_transfer::classes> random_transfer::happened()
{
    std::array<bool, classes> result{};
    for (const auto &each : net_.hosts()) {
        for (const auto &end : each->ends) {
            const qp_counters &counters = end->qp.counters();
            if (counters.retransmits != 0)
                has(feature::retransmission);
            if (counters.timeouts != 0)
                has(feature::timeout);
        }
        if (each->paths.next_transition())
            has(feature::replaced_path);
        for (const known_host &other : each->others)
            if (other.status.counters().taken != 0)
                has(feature::port_update);
        net_.faults()[static_cast<std::size_t>(fault::busy_memory)] += each->memory.refused_busy();
        net_.faults()[static_cast<std::size_t>(fault::backlog_mark)] += each->backlogged;
    }
    for (const checked_stream &each : streams_)
        if (each.wraps())
            has(feature::psn_wrap);
    for (std::size_t which = 0; which < fault_names.size(); ++which)
        result[which] = net_.faults()[which] != 0;
    std::ranges::copy(features_, result.begin() + fault_names.size());
    return result;
}

data_volume &data_volume::operator+=(const data_volume &other)
{
    sent += other.sent;
    retransmits += other.retransmits;
    needless += other.needless;
    return *this;
}

data_volume random_transfer::volume()
{
    data_volume result;
    for (const auto &each : net_.hosts()) {
        for (const auto &end : each->ends) {
            result.sent += end->qp.counters().tx_packets;
            result.retransmits += end->qp.counters().retransmits;
        }
    }
    result.needless = net_.needless();
    return result;
}

std::string random_transfer::describe()
{
    std::string text;
    for (const checked_stream &each : streams_)
        if (!each.done())
            text += "posted " + std::to_string(each.posted()) + " of " + std::to_string(each.plans().size()) + ", ";
    text += std::to_string(net_.config().planes) + " planes of " + std::to_string(net_.config().uplinks) + " paths, ";
    text += clings_ ? "single path or REPS, " : other_selectors_ ? "other selectors, " : "MRC selectors, ";
    for (std::size_t kind = 0; kind < fault_names.size(); ++kind)
        if (net_.faults()[kind] != 0)
            text += std::to_string(net_.faults()[kind]) + " x " + std::string{fault_names[kind]} + ", ";
    for (const auto &each : net_.hosts()) {
        text += each.get() == &net_.left() ? "left" : each.get() == &net_.right() ? "\nright" : "\nthird";
        text += ", frames per plane:";
        for (const std::uint64_t frames : each->frames)
            text += ' ' + std::to_string(frames);
        while (const auto change = each->paths.next_transition())
            text += "\n  path " + std::to_string(change->path.value) + ": " +
                    std::to_string(static_cast<int>(change->from)) + " to " +
                    std::to_string(static_cast<int>(change->to));
        for (const auto &end : each->ends) {
            const qp_counters &counters = end->qp.counters();
            text += "\n  state " + std::to_string(static_cast<int>(end->qp.state())) + ", outstanding " +
                    std::to_string(end->qp.outstanding()) + ", inflight " + std::to_string(end->qp.inflight_packets()) +
                    ", sent " + std::to_string(counters.tx_packets) + ", retransmits " +
                    std::to_string(counters.retransmits) + ", timeouts " + std::to_string(counters.timeouts) +
                    ", silences " + std::to_string(counters.silences) + ", nacks " + std::to_string(counters.nacks) +
                    ", received " + std::to_string(counters.rx_packets) + ", malformed " +
                    std::to_string(counters.rx_malformed) + ", refused " + std::to_string(counters.rx_refused) +
                    ", beyond " + std::to_string(counters.rx_out_of_window) + ", trimmed " +
                    std::to_string(counters.rx_trimmed) + ", receives " + std::to_string(end->receives.size());
        }
    }
    return text;
}

} // namespace mrc::sim
