// SPDX-License-Identifier: Apache-2.0
#include "random_transfer.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "sim/scenario_file.h"
#include "sim/selectors/oblivious_selector.h"
#include "sim/selectors/reps_selector.h"
#include "sim/selectors/single_path_selector.h"

namespace mrc::sim
{

using namespace std::chrono_literals;
using namespace protocol;

namespace
{

constexpr std::size_t short_memory = 1 << 20;
constexpr std::size_t long_memory = 192 << 20;
constexpr std::uint32_t longest_message = 64 << 20;
constexpr std::size_t fence = 64; // bytes between writes that nobody may touch

// Of a variant of the scenario that says how it was measured.
const worker_model &measured_worker(bool busy)
{
    static const scenario measured = load_scenario(MRC_SOURCE_DIR "/tests/sim/scenarios/measured_hosts.toml");
    const auto found = std::ranges::find(measured.variants, busy ? "busy hosts" : "quiet hosts", &variant::name);
    return found->config.host;
}

psn near_wrap_or_anywhere(random_source &random)
{
    return psn{random.below(2) == 0 ? 0xFFFFFF - random.below(64) : random.below(1u << 24)};
}

} // namespace

random_transfer::random_transfer(std::uint64_t seed, bool long_messages)
    : long_messages_{long_messages}, random_{seed}, wide_{!long_messages && one_in(9)},
      wide_window_{draw_wide_window()}, lossless_{one_in(6)}, alike_{one_in(3)},
      largest_payload_{long_messages ? 1024 + 64 * random_.below(49)
                       : wide_       ? 256
                                     : 256 + 64 * random_.below(61)},
      net_{make_network(), memory_needed()}
{
    make_pairs();
    make_streams();
    make_faults();
    add_restart();
    net_.on_served([this](host &at) { follow(at); });
}

duration random_transfer::between(duration least, duration most)
{
    return least +
           duration{static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>((most - least).count() + 1))};
}

// From the usual window to the largest; few are large, as one takes as long as ten others to fill.
std::uint32_t random_transfer::draw_wide_window()
{
    constexpr std::uint32_t usual = 1024;
    const std::uint32_t most = one_in(2) ? 1536 : one_in(16) ? largest_window_psns : 4096;
    return usual + random_.below(most - usual + 1);
}

std::size_t random_transfer::memory_needed() const
{
    if (long_messages_)
        return long_memory;
    return short_memory + (wide_ ? std::size_t{2} * wide_window_ * largest_payload_ : 0);
}

instant random_transfer::soon()
{
    return net_.now() + (one_in(3) ? between(0us, 5ms) : between(0us, 300us));
}

network_config random_transfer::make_network()
{
    network_config config;
    config.planes = 1 + random_.below(8);
    config.uplinks = 1 + random_.below(4);
    config.evs_per_plane = 1 + random_.below(config.uplinks);
    config.active_per_plane = one_in(2) ? 0 : 1 + random_.below(config.uplinks);
    config.serialisation = between(100ns, wide_ ? 300ns : 5us);
    config.port_status = one_in(2);
    config.shared_planes = one_in(2);
    config.third = !wide_ && one_in(3);
    config.encoded = one_in(4);
    if (!one_in(4))
        config.worker = make_worker();
    config.seed = random_.next();
    if (config.encoded)
        has(feature::encoded);
    if (lossless_)
        has(feature::lossless);
    return config;
}

// As it was measured, or another one that loses its CPU as often, or never.
worker_model random_transfer::make_worker()
{
    const worker_model &real = measured_worker(one_in(2));
    if (one_in(4)) {
        has(feature::measured_host);
        return real;
    }
    worker_model worker;
    worker.ring = lossless_ || one_in(3) ? 0 : (wide_ ? std::size_t{256} : std::size_t{8}) << random_.below(5);
    worker.round = between(1us, 20us).count() * nanosecond;
    worker.frame = between(0us, 2us).count() * nanosecond;
    worker.batch = one_in(2) ? 0 : std::uint64_t{8} << random_.below(6);
    if (one_in(2)) {
        worker.stall_every = real.stall_every;
        worker.stalls = real.stalls;
    }
    return worker;
}

void random_transfer::make_pairs()
{
    const bool third = net_.config().third;
    const unsigned pairs = third ? 2 + random_.below(3) : wide_ || one_in(2) ? 1 : 1 + random_.below(4);
    const bool shared = pairs > 1 && one_in(2);
    std::size_t control = make_control();
    for (unsigned index = 0; index < pairs; ++index) {
        pair_config pair = make_pair(index);
        if (index != 0 && !shared)
            control = make_control();
        pair.control = control;
        pair.selector = make_selector();
        pair.remote = third && (index == 1 || one_in(2)) ? 2 : 1;
        pairs_.push_back({pair, net_.add_pair(pair)});
    }
    if (third)
        has(feature::third_host);
    if (pairs > 1)
        has(feature::several_qps);
    if (shared)
        has(feature::shared_control);
}

std::size_t random_transfer::make_control()
{
    if (wide_ || one_in(2)) {
        const std::uint64_t window =
            wide_ ? std::uint64_t{2} * wide_window_ * largest_payload_ : std::uint64_t{8192} << random_.below(7);
        return net_.add_control([window] { return std::make_unique<fixed_window>(window); });
    }
    nscc_link link;
    link.mtu = nominal_bytes(largest_payload_);
    link.bits_per_second = (std::uint64_t{1} << random_.below(4)) * 25'000'000'000;
    link.base_rtt = between(5us, 200us);
    link.trimming = one_in(2);
    if (one_in(2)) {
        link.software = true;
        link.idle_jitter = between(0us, 100us);
        link.base_rtt_floor = between(0us, 50us);
        link.min_window = std::uint64_t{link.mtu} * random_.below(64);
        has(feature::nscc_software);
    }
    has(feature::nscc);
    return net_.add_control([link] { return std::make_unique<nscc>(derive_nscc(link)); });
}

std::optional<std::size_t> random_transfer::make_selector()
{
    if (!one_in(4))
        return std::nullopt; // the MRC rule
    has(feature::other_selector);
    other_selectors_ = true;
    switch (random_.below(3)) {
    case 0:
        return net_.add_selector([](std::uint64_t seed) { return std::make_unique<oblivious_selector>(seed); });
    case 1:
        clings_ = true;
        return net_.add_selector([](std::uint64_t seed) { return std::make_unique<reps_selector>(seed); });
    default:
        clings_ = true;
        return net_.add_selector([](std::uint64_t seed) { return std::make_unique<single_path_selector>(seed); });
    }
}

pair_config random_transfer::make_pair(unsigned index)
{
    qp_config left;
    left.local = qpn{0x100 + index};
    left.peer = qpn{0x200 + index};
    left.first_send = near_wrap_or_anywhere(random_);
    left.first_receive = near_wrap_or_anywhere(random_);
    left.payload_bytes = largest_payload_;
    left.send_queue_depth = 1 + random_.below(16);
    left.dynamic_mpr = one_in(3);
    left.service_time = one_in(4);
    left.trim_nack = !one_in(4);
    left.answer_trimmed = !one_in(8);
    left.nack_out_of_window = !one_in(4);
    left.retry.timeout_exponent = static_cast<std::uint8_t>(6 + random_.below(5));
    left.retry.linear = static_cast<std::uint8_t>(random_.below(8));
    left.retry.exponential = one_in(2) ? 25 : 14;
    left.backlog_mark = one_in(2) ? 50us : 0us;
    left.seed = random_.next();
    qp_config right = mirrored(left);
    right.payload_bytes = 256 + 64 * random_.below((largest_payload_ - 256) / 64 + 1);
    if (wide_)
        make_wide_windows(left, right);
    else
        make_windows(left, right);
    make_immediates(left, right);
    make_immediates(right, left);
    if (left.service_time)
        has(feature::service_time);
    return {.left = left, .right = right, .control = 0, .selector = std::nullopt};
}

void random_transfer::make_wide_windows(qp_config &left, qp_config &right) const
{
    left.dynamic_mpr = right.dynamic_mpr = false; // which may never let it fill
    for (qp_config *each : {&left, &right})
        each->receive_window_psns = each->window_psns = wide_window_;
}

// Each end sends at most what the other takes.
void random_transfer::make_windows(qp_config &left, qp_config &right)
{
    const std::uint32_t least = left.dynamic_mpr ? 128 : 64;
    for (qp_config *each : {&left, &right})
        each->receive_window_psns = least + random_.below(one_in(2) ? 512 : 4096 - least + 1);
    left.window_psns = one_in(2) ? right.receive_window_psns : 64 + random_.below(right.receive_window_psns - 63);
    right.window_psns = one_in(2) ? left.receive_window_psns : 64 + random_.below(left.receive_window_psns - 63);
}

void random_transfer::make_immediates(qp_config &from, qp_config &to)
{
    from.max_wimm = static_cast<std::uint16_t>(1 + random_.below(one_in(2) ? 2 : 32));
    to.receive_max_wimm = static_cast<std::uint16_t>(from.max_wimm + random_.below(4));
    to.receive_queue_depth = from.max_wimm + random_.below(4);
}

void random_transfer::make_streams()
{
    for (const made_pair &pair : pairs_) {
        const bool refused = one_in(12);
        if (refused)
            has(feature::refused_write);
        add_streams(pair.ends, pair.config.remote, refused);
    }
}

void random_transfer::add_streams(const pair_ends &ends, unsigned remote, bool refused)
{
    const checked_stream::endpoint left{net_.left(), ends.left};
    const checked_stream::endpoint right{*net_.hosts()[remote], ends.right};
    streams_.emplace_back(net_, left, right, refused, wide_ && !refused ? make_wide_plans() : make_plans(refused));
    // The peer of a failed QP fails too: what it may complete before that is nobody's promise.
    streams_.emplace_back(net_, right, left, refused, refused ? std::vector<write_plan>{} : make_plans(false));
}

std::uint32_t random_transfer::message_bytes()
{
    if (one_in(8))
        return 0;
    if (long_messages_)
        return random_.below(one_in(2) ? longest_message : 1 << 20);
    return random_.below(one_in(3) ? 40 << 10 : 3 << 10);
}

// One and a half windows in two messages.
std::vector<write_plan> random_transfer::make_wide_plans()
{
    const qp_config &sender = net_.left().ends[0]->config;
    std::vector<write_plan> plans(2);
    for (write_plan &plan : plans) {
        plan.bytes = sender.window_psns * sender.payload_bytes / 4 * 3;
        plan.offset = used_bytes_;
        plan.not_before = net_.now();
        used_bytes_ += plan.bytes + fence;
    }
    return plans;
}

std::vector<write_plan> random_transfer::make_plans(bool refused)
{
    std::vector<write_plan> plans(random_.below(long_messages_ ? 6 : 16) + (refused ? 1 : 0));
    const std::uint32_t immediates = random_.below(3); // of two messages: none, one, both
    const bool in_time = !one_in(4);
    instant due = net_.now();
    for (write_plan &plan : plans) {
        plan.bytes = message_bytes();
        plan.signaled = !one_in(4);
        if (random_.below(2) < immediates)
            plan.immediate = static_cast<std::uint32_t>(random_.next());
        plan.solicited = plan.immediate && one_in(2);
        if (used_bytes_ + plan.bytes + fence > net_.left().source.size())
            plan.bytes = 0;
        plan.offset = used_bytes_;
        used_bytes_ += plan.bytes + fence;
        if (!in_time && one_in(4))
            due += between(1us, 2ms);
        plan.not_before = due;
        if (due > net_.now())
            net_.at(due, [] {});
        if (plan.immediate)
            has(feature::immediates);
        if (plan.solicited)
            has(feature::solicited);
    }
    if (refused) {
        write_plan &chosen = plans[random_.below(static_cast<std::uint32_t>(plans.size()))];
        chosen.forbidden = true;
        chosen.bytes = std::max(chosen.bytes, 1u);
    }
    return plans;
}

std::string_view random_transfer::name_of(std::size_t which)
{
    return which < fault_names.size() ? fault_names[which] : feature_names[which - fault_names.size()];
}

} // namespace mrc::sim
