// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a random scenario.
#include "random_transfer.h"

namespace mrc::sim
{

using namespace std::chrono_literals;
using namespace protocol;

path_model random_transfer::make_path()
{
    const double worst = long_messages_ ? 0.01 : 0.1;
    path_model path;
    path.delay = between(2us, 100us);
    path.jitter = one_in(2) ? between(0us, 50us) : 0us;
    path.overtake = one_in(3) ? up_to(worst) : 0;
    path.duplicate = one_in(3) ? up_to(worst) : 0;
    path.congested = one_in(3) ? up_to(3 * worst) : 0;
    if (lossless_)
        return path;
    path.loss = one_in(3) ? up_to(worst) : 0;
    path.corrupt = one_in(4) ? up_to(worst / 2) : 0;
    path.trimmed = one_in(3) ? up_to(2 * worst) : 0;
    path.last_hop = one_in(2) ? 0.5 : 0;
    return path;
}

void random_transfer::make_faults()
{
    const path_model everywhere = make_path();
    for (unsigned slot = 0; slot < net_.left().out.size(); ++slot)
        for (const auto &each : net_.hosts())
            each->out[slot] = alike_ ? everywhere : make_path();
    if (!lossless_)
        add_outages();
    if (!lossless_ && !alike_)
        add_port_changes();
    for (const auto &each : net_.hosts())
        add_pauses(*each);
    if (wide_) {
        const instant from = net_.now() + between(50us, 300us);
        const worker_model &worker = net_.config().worker;
        const picoseconds frame = worker.frame + (worker.batch == 0 ? 0 : worker.round / picoseconds(worker.batch));
        const duration fills = wide_window_ * (net_.config().serialisation + duration{frame / nanosecond}); // by then
        net_.right().off_cpu.push_back({from, from + between(3ms, 6ms) + fills});
    }
    for (const auto &each : net_.hosts())
        if (one_in(6))
            each->memory.busy_one_in(4 + random_.below(60));
    if (!clings_) {
        for (const auto &each : net_.hosts()) {
            if (!alike_)
                add_denials(*each);
            add_exchanges(*each);
        }
    }
    add_tuning();
    for (const auto &each : net_.hosts())
        if (one_in(4))
            each->memory.hold_some();
}

outage random_transfer::make_outage(fault kind)
{
    const instant from = soon();
    const instant to = from + (one_in(8) ? between(50ms, 300ms) : between(50us, 10ms));
    return {from, kind == fault::dead_path || kind == fault::one_way_death ? never : to, kind};
}

void random_transfer::add_outages()
{
    const unsigned paths = net_.config().planes * net_.config().uplinks;
    if (one_in(6)) {
        const outage cut = make_outage(fault::all_planes_out);
        net_.each_path([&](path_model &path) { path.outages.push_back(cut); });
    }
    if (alike_)
        return;
    if (one_in(3)) {
        const outage cut = make_outage(fault::flap);
        net_.each_path_at(random_.below(paths), [&](path_model &path) { path.outages.push_back(cut); });
    }
    if (one_in(3)) {
        const outage cut = make_outage(fault::plane_out);
        net_.each_path_of(random_.below(net_.config().planes), [&](path_model &path) { path.outages.push_back(cut); });
    }
    // A selector that goes on drawing dead paths gets a packet through in the other half of its turns. Not so where a
    // ring overflows with each time-out of a wide fixed window: a packet may then meet its retry limit.
    if (net_.config().planes > 1 && !clings_ && !(wide_ && other_selectors_))
        add_deaths();
    if (net_.config().third)
        add_host_link_outage();
}

// Of one of the neighbours: its plane looks dead to those who speak to it, and the other one has it still.
void random_transfer::add_host_link_outage()
{
    const outage cut = make_outage(fault::host_link_out);
    host_link &link = net_.hosts()[1 + random_.below(2)]->links[random_.below(net_.config().planes)];
    const std::uint32_t directions = random_.below(3); // to the host, from it, both
    if (directions != 1)
        link.to_host.push_back(cut);
    if (directions != 0)
        link.from_host.push_back(cut);
}

// For good, and of one plane only: the others have to carry on.
void random_transfer::add_deaths()
{
    const unsigned uplinks = net_.config().uplinks;
    const unsigned first = random_.below(net_.config().planes) * uplinks;
    if (one_in(2)) {
        const outage cut = make_outage(fault::dead_path);
        net_.each_path_at(first + random_.below(uplinks), [&](path_model &path) { path.outages.push_back(cut); });
    }
    if (one_in(2)) {
        const outage cut = make_outage(fault::one_way_death);
        host &from = *net_.hosts()[random_.below(static_cast<std::uint32_t>(net_.hosts().size()))];
        const unsigned least = one_in(2) ? 0 : random_.below(uplinks);
        const unsigned most = least == 0 ? uplinks - 1 : least; // from the first on: the whole plane
        for (unsigned uplink = least; uplink <= most; ++uplink)
            from.out[first + uplink].outages.push_back(cut);
    }
}

// A port loses its link, or is drained, and comes back.
void random_transfer::add_port_changes()
{
    for (unsigned change = one_in(2) ? 1 + random_.below(3) : 0; change > 0; --change) {
        host &where = *net_.hosts()[random_.below(static_cast<std::uint32_t>(net_.hosts().size()))];
        const plane_index plane{static_cast<std::uint8_t>(random_.below(net_.config().planes))};
        const bool drain = one_in(2);
        const instant from = soon();
        for (const bool usable : {false, true}) {
            net_.at(usable ? from + between(50us, 5ms) : from, [this, &where, plane, drain, usable] {
                (drain ? where.ports.enabled : where.ports.up).set(plane, usable);
                if (running_)
                    ++net_.faults()[static_cast<std::size_t>(drain ? fault::drained_port : fault::port_change)];
            });
        }
    }
}

void random_transfer::add_pauses(host &at)
{
    for (unsigned pause = one_in(2) ? random_.below(4) : 0; pause > 0; --pause) {
        const instant from = soon();
        at.off_cpu.push_back({from, from + between(20us, 10ms)});
    }
}

// The process behind a pair's right end dies. Later the left end is told, and both begin anew with the same numbers and
// other PSNs, so that what is on its way finds QPs that it is not meant for.
void random_transfer::add_restart()
{
    const std::size_t pair = random_.below(static_cast<std::uint32_t>(pairs_.size()));
    if (long_messages_ || wide_ || !one_in(5) || streams_[2 * pair].forbidden_at() < streams_[2 * pair].plans().size())
        return;
    qp_config left = pairs_[pair].config.left;
    const auto away = static_cast<std::int32_t>((1u << 22) + random_.below(1u << 22));
    left.first_send = left.first_send + (one_in(2) ? away : -away);
    left.first_receive = left.first_receive + (one_in(2) ? away : -away);
    const instant dies = soon();
    net_.at(dies, [this, pair] {
        const made_pair &old = pairs_[pair];
        qp_end &end = *net_.hosts()[old.config.remote]->ends[old.ends.right];
        streams_[2 * pair].abandon();
        streams_[2 * pair + 1].abandon();
        end.gone = true;
        end.qp.fail(completion_status::flushed);
    });
    net_.at(dies + between(0us, 5ms), [this, pair, left] { restart(pair, left); });
    ++restarts_;
}

void random_transfer::restart(std::size_t pair, const qp_config &left)
{
    const made_pair &old = pairs_[pair];
    qp_end &end = *net_.left().ends[old.ends.left];
    end.gone = true;
    end.qp.fail(completion_status::flushed);
    pair_config config = old.config;
    config.left = left;
    config.right.first_send = left.first_receive;
    config.right.first_receive = left.first_send;
    const pair_ends ends = net_.add_pair(config);
    net_.left().ends[ends.left]->follows = true;
    net_.hosts()[config.remote]->ends[ends.right]->follows = true;
    add_streams(ends, config.remote, false);
    --restarts_;
    has(feature::restarted_peer);
}

// The controller takes a path out of use, and gives it back.
void random_transfer::add_denials(host &at)
{
    for (unsigned change = one_in(3) ? 1 + random_.below(3) : 0; change > 0; --change) {
        const instant from = soon();
        const unsigned slot = random_.below(at.paths.size());
        net_.at(from, [this, &at, slot] {
            at.paths.deny(slot);
            if (running_)
                has(feature::denied_path);
        });
        net_.at(from + between(10us, 5ms), [&at, slot] { at.paths.allow(slot); });
    }
}

// The controller replaces the profile: other paths, other EVs, and perhaps one of them denied until the next exchange.
void random_transfer::add_exchanges(host &at)
{
    instant when = soon();
    for (unsigned change = one_in(4) ? 1 + random_.below(3) : 0; change > 0; --change) {
        std::vector<std::uint32_t> denied;
        if (!alike_ && change > 1)
            denied.push_back(random_.below(at.paths.size()));
        net_.at(when, [this, &at, evs = make_profile(net_.config(), random_.next()), denied] {
            at.paths.exchange(evs, denied);
            if (running_)
                has(feature::exchanged_evs);
        });
        when += between(1ms, 10ms);
    }
}

// What an application, or the receiving host, changes while packets fly.
void random_transfer::add_tuning()
{
    for (const auto &owner : net_.hosts()) {
        host *const each = owner.get();
        for (const auto &end : each->ends) {
            queue_pair &qp = end->qp;
            for (unsigned change = one_in(2) ? random_.below(4) : 0; change > 0; --change)
                net_.at(soon(), [this, each, dynamic = end->config.dynamic_mpr, psns = 128 + random_.below(2048)] {
                    each->offered_mpr = static_cast<std::uint8_t>(psns / MRC_MPR_UNIT);
                    if (dynamic && running_)
                        has(feature::moving_window);
                });
            if (one_in(6)) {
                const instant from = soon();
                const auto penalty = static_cast<std::uint8_t>(1 + random_.below(127));
                net_.at(from, [this, &qp, penalty] {
                    qp.set_receive_penalty(penalty);
                    if (running_)
                        has(feature::penalty);
                });
                net_.at(from + between(10us, 10ms), [&qp] { qp.set_receive_penalty(0); });
            }
            if (one_in(8)) {
                const instant from = soon();
                net_.at(from, [this, &qp] {
                    if (qp.modify(qp_event::drain) && running_)
                        has(feature::drained_queue);
                });
                net_.at(from + between(10us, 5ms), [&qp] { (void)qp.modify(qp_event::to_ready_to_send); });
            }
        }
    }
}

} // namespace mrc::sim
