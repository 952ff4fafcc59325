// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/direct_judge.h"

#include <algorithm>
#include <utility>

namespace mrc::service
{

loss_count direct_judge::record::last_second() const
{
    loss_count all;
    for (const step &each : steps) {
        all.sent += static_cast<double>(each.sent);
        all.lost += static_cast<double>(each.lost);
    }
    return {.sent = std::max(all.sent, all.lost), .lost = all.lost}; // a loss is found out later
}

std::uint32_t direct_judge::record::least_rtt() const
{
    std::uint32_t least = 0;
    for (const step &each : steps)
        if (each.rtt_ns != 0)
            least = least == 0 ? each.rtt_ns : std::min(least, each.rtt_ns);
    return least;
}

void direct_judge::follow(record &way, const way_look &look, protocol::instant now) const
{
    const bool is_other = look.sent < way.look.sent || look.lost < way.look.lost; // rows that were another's
    if (is_other || !look.is_usable)
        way = {.look = look, .sent_when_heard = look.sent, .told = way.told};
    way.before = std::exchange(way.look, look);
    way.steps[turn_] = {
        .sent = look.sent - way.before.sent, .lost = look.lost - way.before.lost, .rtt_ns = look.rtt_ns};
    if (look.heard != way.before.heard)
        way.sent_when_heard = look.sent;
    if (!look.is_good || ratio_beyond(way.last_second(), settings_.lossy) > 0)
        way.bad_at = now;
}

// Since this one fell silent.
bool direct_judge::is_heard_beside(const direct_way &way, protocol::instant now) const
{
    const protocol::instant silent_since = ways_.at(way).look.heard;
    return std::ranges::any_of(ways_, [&](const auto &other) {
        const protocol::instant heard = other.second.look.heard;
        return other.first.leaf == way.leaf && other.first.plane != way.plane && heard > now - lately &&
               heard > silent_since;
    });
}

bool direct_judge::is_dead(const direct_way &way, const record &of, protocol::instant now) const
{
    if (of.verdict.state == MRC_LINK_DEAD)
        return !of.look.is_good || of.look.heard == of.before.heard;
    return !of.look.is_good && of.look.heard < now - silence && of.look.sent - of.sent_when_heard >= unanswered &&
           is_heard_beside(way, now);
}

// More than may be, and more than the peer's other planes.
bool direct_judge::loses(const direct_way &way, const record &of) const
{
    const loss_count seen = of.last_second();
    loss_count others;
    for (const auto &[other, beside] : ways_)
        if (other.leaf == way.leaf && other.plane != way.plane) {
            const loss_count its = beside.last_second();
            others = {.sent = others.sent + its.sent, .lost = others.lost + its.lost};
        }
    return ratio_beyond(seen, settings_.lossy) > once_in_a_thousand &&
           (others.sent == 0 || ratio_above(seen, others) > once_in_a_thousand);
}

std::uint32_t direct_judge::extra_rtt(const direct_way &way, const record &of) const
{
    std::uint32_t others = 0;
    for (const auto &[other, beside] : ways_)
        if (const std::uint32_t least = beside.least_rtt();
            other.leaf == way.leaf && other.plane != way.plane && least != 0)
            others = others == 0 ? least : std::min(others, least);
    const std::uint32_t own = of.least_rtt();
    return others == 0 || own <= others ? 0 : own - others;
}

mrc_link_state direct_judge::state_of(const direct_way &way, record &of, protocol::instant now) const
{
    if (!of.look.is_usable || of.look.heard == protocol::instant::min())
        return MRC_LINK_UNKNOWN;
    const bool has_come = of.look.heard != of.before.heard;
    of.lossy_looks = has_come && loses(way, of) ? of.lossy_looks + 1 : 0;
    const bool is_slow = std::chrono::nanoseconds{of.verdict.extra_rtt_ns} > settings_.slow;
    of.slow_looks = is_slow ? of.slow_looks + 1 : 0;
    of.quick_looks = is_slow || of.least_rtt() == 0 ? 0 : of.quick_looks + 1;
    if (is_dead(way, of, now))
        return MRC_LINK_DEAD;
    if (of.lossy_looks >= 2 || (of.verdict.state == MRC_LINK_LOSSY && now - of.bad_at < calm))
        return MRC_LINK_LOSSY;
    if (of.slow_looks >= looks_per_second || (of.verdict.state == MRC_LINK_SLOW && of.quick_looks < looks_per_second))
        return MRC_LINK_SLOW;
    return MRC_LINK_GOOD;
}

void direct_judge::count(record &of, bool is_new) const
{
    const loss_count seen = of.last_second();
    if (of.verdict.state == MRC_LINK_DEAD) {
        of.verdict.sent = of.verdict.lost = static_cast<std::uint32_t>(of.look.sent - of.sent_when_heard);
    } else if (of.verdict.state != MRC_LINK_LOSSY || is_new || of.look.is_in_use) {
        of.verdict.sent = static_cast<std::uint32_t>(seen.sent);
        of.verdict.lost = static_cast<std::uint32_t>(seen.lost);
    }
}

std::vector<direct_way> direct_judge::take(const std::map<direct_way, way_look> &looks, protocol::instant now)
{
    std::erase_if(ways_, [&](const auto &known) { return !looks.contains(known.first); });
    turn_ = (turn_ + 1) % looks_per_second;
    for (const auto &[way, look] : looks) {
        const auto [at, is_new] = ways_.try_emplace(way);
        if (is_new) // what came before is no loss of this second
            at->second = {.look = look, .sent_when_heard = look.sent};
        follow(at->second, look, now);
    }
    std::vector<direct_way> changed;
    for (auto &[way, of] : ways_) {
        of.verdict.extra_rtt_ns = extra_rtt(way, of);
        const mrc_link_state state = state_of(way, of, now);
        const bool is_new = std::exchange(of.verdict.state, state) != state;
        if (is_new)
            of.verdict.since = now;
        count(of, is_new);
        if (state != MRC_LINK_UNKNOWN && std::exchange(of.told, state) != state)
            changed.push_back(way);
    }
    return changed;
}

std::vector<std::pair<direct_way, way_verdict>> direct_judge::verdicts() const
{
    std::vector<std::pair<direct_way, way_verdict>> all;
    all.reserve(ways_.size());
    for (const auto &[way, of] : ways_)
        all.emplace_back(way, of.verdict);
    return all;
}

} // namespace mrc::service
