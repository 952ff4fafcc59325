// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/fabric_judge.h"

#include <algorithm>
#include <ranges>

namespace mrc::service
{

namespace
{

constexpr std::uint32_t most_of_burst = 2;
constexpr double least_losses = 5;
constexpr unsigned least_bins = 4;
constexpr double least_known = 20; // loops, before a way is called good or slow
constexpr double undecided_losses = 2;
constexpr protocol::duration forgotten_after = std::chrono::seconds{1};

std::uint32_t beyond(std::uint32_t value, std::uint32_t base)
{
    return value > base ? value - base : 0;
}

// Where the leaf loses packets, too, it may be all that does: loops by a spine pass it on the way out and on the way
// back, its own loops once. So what they lose is compared by pass; a loop that is lost made one of them or both.
loss_count comparable(const loss_count &spine, const loss_count &leaf)
{
    return leaf.lost < undecided_losses ? spine
                                        : loss_count{.sent = 2 * spine.sent - spine.lost / 2, .lost = spine.lost};
}

} // namespace

fabric_judge::fabric_judge(std::span<const loop_way> ways, const judge_settings &settings) : settings_{settings}
{
    for (std::uint32_t row = 0; row < ways.size(); ++row) {
        ways_.push_back({.way = ways[row]});
        if (ways[row].leaf_row == row)
            planes_.push_back({.plane = ways[row].plane, .leaf_row = row});
        planes_.back().end = row + 1;
    }
}

fabric_judge::plane_losses &fabric_judge::plane_of(const way_evidence &of)
{
    return *std::ranges::find(planes_, of.way.leaf_row, &plane_losses::leaf_row);
}

const fabric_judge::plane_losses &fabric_judge::plane_of(const way_evidence &of) const
{
    return *std::ranges::find(planes_, of.way.leaf_row, &plane_losses::leaf_row);
}

void fabric_judge::take(std::uint32_t way, const loop_outcome &loop)
{
    way_evidence &to = ways_[way];
    to.window.take(loop);
    plane_losses &plane = plane_of(to);
    plane.window.take(loop);
    to.last_judged = std::max(to.last_judged, loop.sent);
    switch (loop.fate) {
    case loop_fate::arrived:
    case loop_fate::late:
        to.losses_in_a_row = 0;
        to.last_arrival = std::max(to.last_arrival, loop.sent);
        to.quickest_ns = to.quickest_ns == 0 ? loop.rtt_ns : std::min(to.quickest_ns, loop.rtt_ns);
        return;
    case loop_fate::lost:
        if (to.losses_in_a_row++ == 0)
            to.first_of_row = loop.sent;
        to.last_of_row = loop.sent;
        if (to.last_loss + suspicion < loop.sent)
            to.suspect_since = loop.sent;
        to.last_loss = loop.sent;
        plane.last_loss = std::max(plane.last_loss, loop.sent);
        return;
    case loop_fate::unjudged:
        to.losses_in_a_row = 0;
        return;
    }
}

// A plane that is blamed already explains its own losses.
bool fabric_judge::is_shared(const plane_losses &plane, std::int64_t bin) const
{
    return std::ranges::any_of(planes_, [&](const plane_losses &other) {
        return other.leaf_row != plane.leaf_row && !other.is_blamed &&
               (other.window.lost_in(bin - 1) != 0 || other.window.lost_in(bin) != 0 ||
                other.window.lost_in(bin + 1) != 0);
    });
}

fabric_judge::way_figures fabric_judge::figures_of(const way_evidence &of, const plane_losses &plane,
                                                   protocol::instant now) const
{
    way_figures seen;
    of.window.visit(now, [&](const loop_bin &bin) {
        seen.all.sent += bin.sent;
        seen.all.lost += bin.lost;
        if (bin.rtt_min_ns != 0)
            seen.rtt_min_ns = seen.rtt_min_ns == 0 ? bin.rtt_min_ns : std::min(seen.rtt_min_ns, bin.rtt_min_ns);
        if (bin.lost == 0 || is_shared(plane, bin.number))
            return;
        seen.own.lost += std::min(bin.lost, most_of_burst);
        ++seen.bins;
    });
    seen.own.sent = seen.all.sent;
    return seen;
}

bool fabric_judge::is_dead(const way_evidence &of) const
{
    if (of.losses_in_a_row < dead_loops || of.last_of_row - of.first_of_row < dead_after)
        return false;
    const way_evidence &leaf = ways_[of.way.leaf_row];
    return !of.way.spine || leaf.last_arrival >= of.last_of_row + loop_record::heard_after;
}

// What is lost one after the other may be dead, which takes a moment longer to find. What is lossy stays so on less:
// a second of a lossy link's loops may well lose too few to be named by.
bool fabric_judge::is_lossy(const way_evidence &of, const way_figures &seen, const way_figures &leaf) const
{
    const bool stays = of.verdict.state == MRC_LINK_LOSSY;
    const double sure = stays ? once_in_twenty : once_in_a_thousand;
    if (of.losses_in_a_row >= dead_loops || (!stays && (seen.own.lost < least_losses || seen.bins < least_bins)) ||
        ratio_beyond(seen.own, settings_.lossy) < sure)
        return false;
    return !of.way.spine || ratio_above(comparable(seen.own, leaf.all), leaf.all) >= sure;
}

bool fabric_judge::is_slow(const way_evidence &of, const way_figures &seen, const way_figures &leaf) const
{
    const auto slow_ns = static_cast<std::uint32_t>(settings_.slow.count());
    if (seen.all.sent < least_known || seen.rtt_min_ns == 0)
        return false;
    const std::uint32_t extra = beyond(seen.rtt_min_ns, of.quickest_ns);
    if (of.way.spine)
        return beyond(extra, beyond(leaf.rtt_min_ns, ways_[of.way.leaf_row].quickest_ns)) >= slow_ns;
    const bool others_are_quick = std::ranges::all_of(planes_, [&](const plane_losses &other) {
        return other.leaf_row == of.way.leaf_row || ways_[other.leaf_row].verdict.extra_rtt_ns < slow_ns / 2;
    });
    return extra >= slow_ns && others_are_quick;
}

mrc_link_state fabric_judge::state_of(const way_evidence &of, const way_figures &seen, const way_figures &leaf,
                                      protocol::instant now) const
{
    if (of.last_judged + forgotten_after < now || seen.all.sent == 0)
        return MRC_LINK_UNKNOWN;
    if (is_dead(of))
        return MRC_LINK_DEAD;
    if (of.way.spine && ways_[of.way.leaf_row].losses_in_a_row >= dead_loops)
        return MRC_LINK_UNKNOWN; // hidden behind the way to the leaf
    if (is_lossy(of, seen, leaf))
        return MRC_LINK_LOSSY;
    if (is_slow(of, seen, leaf))
        return MRC_LINK_SLOW;
    return seen.all.sent < least_known ? MRC_LINK_UNKNOWN : MRC_LINK_GOOD;
}

bool fabric_judge::is_undecided(std::uint32_t way, const way_figures &seen) const
{
    return seen.found <= MRC_LINK_GOOD &&
           (seen.own.lost >= undecided_losses || ways_[way].losses_in_a_row >= undecided_losses);
}

// The state to be shown: a worse one when it has been found for so long, a better one after `calm`.
mrc_link_state fabric_judge::settle(way_evidence &of, mrc_link_state found, protocol::duration wait,
                                    protocol::instant now)
{
    const mrc_link_state shown = of.verdict.state;
    if (found == MRC_LINK_UNKNOWN || shown == MRC_LINK_UNKNOWN || found >= shown)
        of.clean_since = protocol::never;
    if (found > MRC_LINK_GOOD && found > shown) {
        if (of.found_since == protocol::never)
            of.found_since = now;
        if (now - of.found_since < wait)
            return shown;
    }
    of.found_since = protocol::never;
    if (found == MRC_LINK_UNKNOWN || shown == MRC_LINK_UNKNOWN || found >= shown)
        return found;
    if (of.clean_since == protocol::never)
        of.clean_since = now;
    return now - of.clean_since < calm ? shown : found;
}

std::vector<fabric_judge::way_figures> fabric_judge::look_at(const plane_losses &plane, protocol::instant now) const
{
    std::vector<way_figures> figures;
    for (std::uint32_t row = plane.leaf_row; row < plane.end; ++row)
        figures.push_back(figures_of(ways_[row], plane, now));
    for (std::uint32_t row = plane.leaf_row; row < plane.end; ++row) {
        way_figures &seen = figures[row - plane.leaf_row];
        seen.found = state_of(ways_[row], seen, figures.front(), now);
    }
    return figures;
}

std::vector<link_verdict> fabric_judge::verdicts_of(const plane_losses &plane, protocol::instant now)
{
    const std::vector<way_figures> figures = look_at(plane, now);
    bool is_any_undecided = false;
    for (std::uint32_t row = plane.leaf_row + 1; row < plane.end; ++row)
        is_any_undecided = is_any_undecided || is_undecided(row, figures[row - plane.leaf_row]);
    std::vector<link_verdict> fresh;
    for (std::uint32_t row = plane.leaf_row; row < plane.end; ++row) {
        const way_figures &seen = figures[row - plane.leaf_row];
        link_verdict verdict = ways_[row].verdict;
        const bool waits_for_spines = row != plane.leaf_row && is_any_undecided;
        const protocol::duration wait = seen.found == MRC_LINK_SLOW ? slow_patience
                                        : waits_for_spines          ? patience
                                        : row != plane.leaf_row     ? spine_patience
                                                                    : protocol::duration::zero();
        verdict.state = settle(ways_[row], seen.found, wait, now);
        verdict.loss = seen.all;
        verdict.extra_rtt_ns = seen.rtt_min_ns == 0 ? 0 : beyond(seen.rtt_min_ns, ways_[row].quickest_ns);
        fresh.push_back(verdict);
    }
    return fresh;
}

void fabric_judge::judge_plane(plane_losses &plane, protocol::instant now, std::vector<std::uint32_t> &changed)
{
    std::vector<link_verdict> fresh = verdicts_of(plane, now);
    const std::span spines = std::span{fresh}.subspan(1);
    const bool is_leaf = spines.size() > 1 && std::ranges::all_of(spines, [](const link_verdict &one) {
                             return one.state == MRC_LINK_DEAD || one.state == MRC_LINK_LOSSY;
                         });
    for (std::uint32_t row = plane.leaf_row; row < plane.end; ++row) {
        link_verdict &verdict = fresh[row - plane.leaf_row];
        const mrc_link_blame blame = row == plane.leaf_row ? MRC_BLAME_HOST_LINK_OR_LEAF
                                     : is_leaf             ? MRC_BLAME_LEAF
                                                           : MRC_BLAME_SPINE_LINK_OR_SPINE;
        verdict.blame = verdict.is_fault() ? blame : MRC_BLAME_NOTHING;
        link_verdict &shown = ways_[row].verdict;
        if (verdict.state != shown.state || verdict.blame != shown.blame) {
            verdict.since = now;
            changed.push_back(row);
        }
        shown = verdict;
    }
    plane.is_blamed = std::ranges::any_of(fresh, &link_verdict::is_fault);
}

std::vector<std::uint32_t> fabric_judge::evaluate(protocol::instant now)
{
    std::vector<std::uint32_t> changed;
    for (plane_losses &plane : planes_) {
        const bool is_calm = !plane.is_blamed && plane.last_loss + calm < now;
        if (is_calm && plane.looked + calm_interval > now)
            continue;
        plane.looked = now;
        judge_plane(plane, now, changed);
    }
    return changed;
}

// The leaf's loops are what the spines' are compared with.
bool fabric_judge::is_suspect(std::uint32_t way, protocol::instant now) const
{
    const plane_losses &plane = plane_of(ways_[way]);
    const auto is_it = [&](std::uint32_t row) {
        const way_evidence &of = ways_[row];
        return !of.verdict.is_fault() && of.last_loss != protocol::instant::min() && now - of.last_loss < suspicion &&
               now - of.suspect_since < longest_suspicion && !is_shared(plane, loop_window::bin_of(of.last_loss));
    };
    if (way != plane.leaf_row)
        return is_it(way);
    return std::ranges::any_of(std::views::iota(plane.leaf_row, plane.end), is_it);
}

bool fabric_judge::is_clean(std::uint32_t way, protocol::instant now) const
{
    const way_evidence &of = ways_[way];
    return of.verdict.state == MRC_LINK_GOOD && of.losses_in_a_row == 0 &&
           (of.last_loss == protocol::instant::min() || now - of.last_loss >= suspicion);
}

void fabric_judge::forget(protocol::plane_index plane)
{
    for (way_evidence &of : ways_)
        if (of.way.plane == plane)
            of = {.way = of.way, .verdict = of.verdict};
}

} // namespace mrc::service
