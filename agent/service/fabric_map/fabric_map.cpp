// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/fabric_map.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <ctime>
#include <iterator>
#include <optional>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "kernel/monotonic_clock.h"
#include "kernel/shared_word.h"
#include "kernel/startup_error.h"

namespace mrc::service
{

namespace
{

constexpr protocol::duration evaluation_interval = std::chrono::milliseconds{20};
constexpr protocol::duration late_round = std::chrono::milliseconds{20};
constexpr double millionths = 1e6;

loop_rates rates_of(const fabric_map_options &options)
{
    return {.interval = std::chrono::microseconds{options.interval_us},
            .suspect_interval = std::chrono::microseconds{std::min(options.interval_us, options.suspect_interval_us)},
            .per_second = options.packets_per_second};
}

std::uint32_t ppm(double rate)
{
    return static_cast<std::uint32_t>(std::lround(rate * millionths));
}

// Its round trip in ns, if the loop has come back.
std::optional<std::uint32_t> arrival_in(const kernel::mapped_array<mrc_loop_arrival> &arrivals, std::uint32_t way,
                                        std::uint32_t number)
{
    auto &row = arrivals[std::size_t{way} * MRC_LOOP_SLOTS + number % MRC_LOOP_SLOTS];
    const std::uint64_t what = std::atomic_ref{row.what}.load(std::memory_order_relaxed);
    if (what >> 32 != number)
        return std::nullopt;
    return std::max(1U, static_cast<std::uint32_t>(what)); // 0 would be none
}

} // namespace

fabric_map::fabric_map(surroundings around)
    : around_{std::move(around)}, all_ways_{all_loop_ways_of(around_.config)}, ways_{loop_ways_of(around_.config)},
      records_(ways_.size()), told_(ways_.size(), MRC_LINK_GOOD),
      faults_{{.config = around_.config,
               .rules = around_.rules,
               .tables = around_.tables,
               .on_fault = [this](const fault_change &change) { around_.on_fault(change); }}},
      judge_{ways_, judge_settings_of(around_.config.fabric_map)},
      schedule_{ways_, rates_of(around_.config.fabric_map)}, crossings_{around_.config, ways_},
      sender_{{.ways = all_ways_,
               .tables = around_.tables,
               .cookie = around_.cookie,
               .dscp = around_.config.wire.dscp.control}},
      stop_{::eventfd(0, EFD_CLOEXEC)}
{
    if (!stop_)
        kernel::fail_startup("cannot create the bell that ends the thread of the fabric map");
    for (std::uint32_t way = 0; way < all_ways_.size(); ++way) {
        const std::uint32_t turns_at = all_ways_[way].spine.value_or(MRC_LOOP_NO_SPINE);
        mrc_loop_row &row = around_.tables.loops[way];
        row.plane = all_ways_[way].plane.value;
        row.leaf = around_.config.host.leaf;
        row.uplink = static_cast<__u16>(way < ways_.size() ? turns_at : MRC_LOOP_CROSSING);
    }
}

fabric_map::~fabric_map()
{
    if (!thread_.joinable())
        return;
    [[maybe_unused]] const int written = ::eventfd_write(stop_.get(), 1);
    thread_.join();
}

void fabric_map::start()
{
    thread_ = std::thread{[this] {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr); // signals are the service thread's
        ::pthread_setname_np(::pthread_self(), "mrc-fabric-map");
        run();
    }};
}

void fabric_map::run()
{
    pollfd wakes[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                      {.fd = faults_.fd(), .events = POLLIN, .revents = 0}};
    for (;;) {
        const protocol::instant now = kernel::monotonic_now();
        due_ = schedule_.next_round(is_any_suspect_);
        const auto wait = std::chrono::nanoseconds{due_ > now ? due_ - now : protocol::duration::zero()};
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
        const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (wait - seconds).count()};
        const int ready = ::ppoll(wakes, std::size(wakes), &timeout, nullptr);
        if (ready > 0 && wakes[0].revents != 0)
            return;
        if (ready > 0)
            faults_.receive(kernel::monotonic_now());
        if (kernel::monotonic_now() >= due_)
            round(kernel::monotonic_now());
    }
}

void fabric_map::round(protocol::instant now)
{
    if (due_ == protocol::instant::min() || now - due_ > late_round)
        reception_.punctual_since = now;
    follow_ports();
    judge(now);
    send(now);
    if (now - evaluation_interval >= evaluated_)
        evaluate(now);
}

// Another device, or none: what was sent by the old one says nothing.
void fabric_map::follow_ports()
{
    for (std::uint32_t plane = 0; plane < planes_.size(); ++plane) {
        const mrc_port_row &port = around_.tables.ports[plane];
        const std::uint32_t flags = kernel::shared_word(port.flags);
        const bool usable = (flags & MRC_PORT_USABLE) == MRC_PORT_USABLE;
        const std::uint32_t ifindex = usable ? port.ifindex : 0;
        if (std::exchange(planes_[plane].ifindex, ifindex) == ifindex)
            continue;
        const protocol::plane_index index{static_cast<std::uint8_t>(plane)};
        for (std::uint32_t way = 0; way < ways_.size(); ++way)
            if (ways_[way].plane == index)
                records_[way].forget();
        judge_.forget(index);
    }
}

void fabric_map::send(protocol::instant now)
{
    batch_.clear();
    schedule_.round(
        now, [&](std::uint32_t way) { return judge_.is_suspect(way, now); },
        [&](std::uint32_t way) {
            if (planes_[ways_[way].plane.value].ifindex != 0 && !records_[way].is_full())
                batch_.push_back({.way = way, .number = records_[way].next_number()});
        });
    crossings_.send([&](protocol::plane_index plane) { return planes_[plane.value].ifindex != 0; },
                    [&](const loop_sender::departure &loop) { batch_.push_back(loop); });
    sender_.send(batch_, now, [&](const loop_sender::departure &left) {
        if (!crossings_.on_sent(left.way, now))
            records_[left.way].on_sent(now);
        ++around_.tables.loops[left.way].sent;
    });
}

// Of other planes, and of a spine's way the leaf's.
protocol::instant fabric_map::heard_beside(const loop_way &way) const
{
    protocol::instant heard = way.spine ? planes_[way.plane.value].heard_of_leaf : protocol::instant::min();
    for (std::size_t plane = 0; plane < planes_.size(); ++plane)
        if (plane != way.plane.value)
            heard = std::max(heard, planes_[plane].heard);
    return heard;
}

void fabric_map::judge(protocol::instant now)
{
    is_any_suspect_ = false;
    for (std::uint32_t way = 0; way < ways_.size(); ++way) {
        judge_way(way, now);
        is_any_suspect_ = is_any_suspect_ || judge_.is_suspect(way, now);
    }
    crossings_.judge(
        now,
        [this](protocol::plane_index plane) {
            reception meanwhile = reception_;
            meanwhile.heard = planes_[plane.value].heard_of_leaf;
            return meanwhile;
        },
        [this](std::uint32_t way, std::uint32_t number) {
            return arrival_in(around_.tables.loop_arrivals, way, number);
        });
}

void fabric_map::judge_way(std::uint32_t way, protocol::instant now)
{
    reception meanwhile = reception_;
    meanwhile.heard = heard_beside(ways_[way]);
    plane_reception &plane = planes_[ways_[way].plane.value];
    mrc_loop_row &row = around_.tables.loops[way];
    const auto take = [&](const loop_outcome &loop) {
        judge_.take(way, loop);
        row.unjudged += loop.fate == loop_fate::unjudged ? 1 : 0;
        row.lost += loop.fate == loop_fate::lost ? 1 : 0;
        row.lost -= loop.fate == loop_fate::late ? 1 : 0;
        if (loop.rtt_ns == 0)
            return;
        plane.heard = std::max(plane.heard, loop.sent);
        if (!ways_[way].spine)
            plane.heard_of_leaf = std::max(plane.heard_of_leaf, loop.sent);
    };
    records_[way].judge(
        now, meanwhile, [&](std::uint32_t number) { return arrival_in(around_.tables.loop_arrivals, way, number); },
        take);
}

void fabric_map::evaluate(protocol::instant now)
{
    evaluated_ = now;
    const std::vector<std::uint32_t> changed = judge_.evaluate(now);
    crossings_.follow(judge_, now, sender_);
    faults_.evaluate(report(now), now);
    for (std::uint32_t way = 0; way < ways_.size(); ++way)
        show(way);
    for (const std::uint32_t way : changed)
        tell(way, now);
}

// What this host tells others.
link_report fabric_map::report(protocol::instant now) const
{
    link_report found;
    for (std::uint32_t way = 0; way < ways_.size(); ++way) {
        const loop_way &of = ways_[way];
        const link_verdict &verdict = judge_.verdict(way);
        if (planes_[of.plane.value].ifindex == 0)
            continue;
        auto &plane = found.planes[of.plane.value];
        if (!plane)
            plane.emplace();
        plane->spines += of.spine ? 1 : 0;
        const bool is_clean = judge_.is_clean(way, now);
        if (of.spine)
            plane->good[*of.spine] = is_clean;
        else if (is_clean || verdict.is_fault())
            plane->leaf = verdict.state;
        if (verdict.is_fault())
            found.faults.push_back({.plane = of.plane,
                                    .spine = of.spine,
                                    .state = verdict.state,
                                    .direction = direction_of(way),
                                    .loops = static_cast<std::uint32_t>(verdict.loss.sent),
                                    .lost = static_cast<std::uint32_t>(verdict.loss.lost),
                                    .extra_rtt_ns = verdict.extra_rtt_ns});
    }
    return found;
}

// As it is named, or, until it is, as this host's own loops have it.
mrc_link_blame fabric_map::blame_of(std::uint32_t way) const
{
    const loop_way &of = ways_[way];
    if (!judge_.verdict(way).is_fault())
        return MRC_BLAME_NOTHING;
    const fault_place own{.blame = MRC_BLAME_NOTHING,
                          .plane = of.plane,
                          .leaf = around_.config.host.leaf,
                          .spine = of.spine.value_or(MRC_FAULT_NOWHERE),
                          .downlink = of.spine ? MRC_FAULT_NOWHERE : around_.config.host.downlink};
    for (const auto &[place, named] : faults_.board().named()) {
        const bool is_of_host = place.downlink == MRC_FAULT_NOWHERE || place.downlink == own.downlink;
        const bool is_of_spine = place.spine == MRC_FAULT_NOWHERE || place.spine == own.spine;
        if (is_beside(place, own) && is_of_host && is_of_spine)
            return place.blame;
    }
    return judge_.verdict(way).blame;
}

mrc_link_direction fabric_map::direction_of(std::uint32_t way) const
{
    const loop_way &of = ways_[way];
    return of.spine ? crossings_.direction_of(of.plane, *of.spine) : MRC_DIRECTION_UNKNOWN;
}

void fabric_map::show(std::uint32_t way)
{
    const link_verdict &verdict = judge_.verdict(way);
    const loss_interval range = interval_of(verdict.loss);
    mrc_loop_row &row = around_.tables.loops[way];
    row.state = verdict.state;
    row.blame = blame_of(way);
    row.direction = direction_of(way);
    row.loss_ppm = ppm(verdict.loss.rate());
    row.loss_low_ppm = ppm(range.low);
    row.loss_high_ppm = ppm(range.high);
    row.extra_rtt_ns = verdict.extra_rtt_ns;
    row.since_ns =
        verdict.since == protocol::instant::min() ? 0 : static_cast<__u64>(verdict.since.time_since_epoch().count());
}

// That nothing is known at the moment, or that all is well from the beginning, is no news.
void fabric_map::tell(std::uint32_t way, protocol::instant now)
{
    const link_verdict &verdict = judge_.verdict(way);
    if (verdict.state == MRC_LINK_UNKNOWN || std::exchange(told_[way], verdict.state) == verdict.state)
        return;
    around_.on_change({.way = ways_[way], .verdict = verdict, .at = now});
}

} // namespace mrc::service
