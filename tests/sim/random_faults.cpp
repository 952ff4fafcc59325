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
    path.loss = one_in(3) ? up_to(worst) : 0;
    path.corrupt = one_in(4) ? up_to(worst / 2) : 0;
    path.overtake = one_in(3) ? up_to(worst) : 0;
    path.duplicate = one_in(3) ? up_to(worst) : 0;
    path.congested = one_in(3) ? up_to(3 * worst) : 0;
    path.trimmed = one_in(3) ? up_to(2 * worst) : 0;
    path.last_hop = one_in(2) ? 0.5 : 0;
    return path;
}

void random_transfer::make_faults()
{
    const path_model everywhere = make_path();
    for (unsigned slot = 0; slot < net_.left().out.size(); ++slot)
        for (host *each : {&net_.left(), &net_.right()})
            each->out[slot] = alike_ ? everywhere : make_path();
    add_outages();
    if (!alike_)
        add_port_changes();
    add_pauses(net_.left());
    add_pauses(net_.right());
    for (host *each : {&net_.left(), &net_.right()})
        if (one_in(6))
            each->memory.busy_one_in(4 + random_.below(60));
    add_tuning();
}

outage random_transfer::make_outage(fault kind)
{
    const instant from = soon();
    const instant to = from + (one_in(8) ? between(50ms, 300ms) : between(50us, 10ms));
    return {from, kind == fault::dead_path ? never : to, kind};
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
    if (one_in(2) && net_.config().planes > 1 && !clings_) {
        const outage cut = make_outage(fault::dead_path);
        net_.each_path_at(random_.below(paths), [&](path_model &path) { path.outages.push_back(cut); });
    }
}

// A port loses its link, or is drained, and comes back.
void random_transfer::add_port_changes()
{
    for (unsigned change = one_in(2) ? 1 + random_.below(3) : 0; change > 0; --change) {
        host &where = one_in(2) ? net_.left() : net_.right();
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

// What an application, or the receiving host, changes while packets fly.
void random_transfer::add_tuning()
{
    for (host *each : {&net_.left(), &net_.right()}) {
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
