// SPDX-License-Identifier: Apache-2.0
// The fabric map of direct mode: what is wrong between this host and a peer on one plane, by what goes and comes there
// anyway. Sans-IO: given looks at the counters of all paths, an `interval` apart.
//
// state  when                                                                            until
// dead   no path is good, nothing has come for `silence` though `unanswered` packets     a path is good, and
//        were sent since, and the peer was heard on another plane meanwhile              something comes
// lossy  of the last second's packets more are lost than may be, and than on its other   for `calm` no more than that,
//        planes, as two looks in a row find, between which something came                and a path is good
// slow   for a second the quickest answer took longer than the quickest on another       for a second it took not
//        plane of the same peer, by more than may be
//
// What a host cannot tell it does not blame: where no plane delivers, the peer may be gone, and where all lose alike,
// the loss may be of either end. Only what is sent is judged, so a loss is on the way to the peer.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mrc/abi/maps.h"
#include "protocol/types.h"
#include "service/fabric_map/fabric_judge.h"
#include "service/fabric_map/loss_likelihood.h"

namespace mrc::service
{

struct direct_way {
    std::uint32_t leaf = 0; // the peer, as fabric_rules counts them
    unsigned plane = 0;
    friend auto operator<=>(const direct_way &, const direct_way &) = default;
};

// Of all paths of a way, since they came into being.
struct way_look {
    bool is_usable = false;                             // the port of this host is
    bool is_good = false;                               // a path is
    bool is_in_use = false;                             // a path is: it is good, or kept
    std::uint64_t sent = 0;                             // packets, of any kind
    std::uint64_t lost = 0;                             // of those, inferred
    protocol::instant heard = protocol::instant::min(); // when the latest packet came from there
    std::uint32_t rtt_ns = 0;                           // the least since the look before; 0: none was measured
};

struct way_verdict {
    mrc_link_state state = MRC_LINK_UNKNOWN;
    protocol::instant since = protocol::instant::min();
    // In the last second, and of those lost. Lossy: in the last one in which its paths were in use, for others carry
    // nothing but probes. Dead: all since something came.
    std::uint32_t sent = 0;
    std::uint32_t lost = 0;
    std::uint32_t extra_rtt_ns = 0; // of the last second's quickest, beyond another plane's; 0: it is the quickest

    [[nodiscard]] bool is_fault() const { return state > MRC_LINK_GOOD; }
};

class direct_judge
{
public:
    static constexpr protocol::duration interval = std::chrono::milliseconds{250};
    static constexpr protocol::duration silence = interval;
    static constexpr protocol::duration calm = std::chrono::seconds{3};
    static constexpr std::uint64_t unanswered = 12;

    explicit direct_judge(const judge_settings &settings) : settings_{settings} {}

    // Takes a look at all ways that there are; others are forgotten. Those that are at fault now, or otherwise than
    // before, or no longer.
    [[nodiscard]] std::vector<direct_way> take(const std::map<direct_way, way_look> &looks, protocol::instant now);
    [[nodiscard]] std::vector<std::pair<direct_way, way_verdict>> verdicts() const;
    [[nodiscard]] const way_verdict &verdict(const direct_way &way) const { return ways_.at(way).verdict; }

private:
    static constexpr unsigned looks_per_second = std::chrono::seconds{1} / interval;
    static constexpr protocol::duration lately = std::chrono::milliseconds{1500}; // idle paths are asked once a second

    struct record {
        way_look look{};
        way_look before{};
        struct step {
            std::uint64_t sent = 0;
            std::uint64_t lost = 0;
            std::uint32_t rtt_ns = 0;
        };
        std::array<step, looks_per_second> steps{}; // between looks
        std::uint64_t sent_when_heard = 0;
        unsigned lossy_looks = 0; // in a row
        unsigned slow_looks = 0;
        unsigned quick_looks = 0;
        protocol::instant bad_at = protocol::instant::min(); // when none of its paths was good, or it lost too many
        mrc_link_state told = MRC_LINK_GOOD;
        way_verdict verdict{};

        [[nodiscard]] loss_count last_second() const;
        [[nodiscard]] std::uint32_t least_rtt() const; // 0: none
    };

    void follow(record &way, const way_look &look, protocol::instant now) const;
    [[nodiscard]] bool is_heard_beside(const direct_way &way, protocol::instant now) const;
    [[nodiscard]] bool is_dead(const direct_way &way, const record &of, protocol::instant now) const;
    [[nodiscard]] bool loses(const direct_way &way, const record &of) const;
    [[nodiscard]] std::uint32_t extra_rtt(const direct_way &way, const record &of) const;
    void count(record &of, bool is_new) const;
    [[nodiscard]] mrc_link_state state_of(const direct_way &way, record &of, protocol::instant now) const;

    judge_settings settings_;
    unsigned turn_ = 0; // of steps
    std::map<direct_way, record> ways_;
};

} // namespace mrc::service
