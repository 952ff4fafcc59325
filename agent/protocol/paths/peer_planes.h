// SPDX-License-Identifier: Apache-2.0
// One remote host as all QPs to it see it: does it live, and on which planes do packets reach it? Path health belongs
// to the path group of its T0, which other hosts share; a dead host, or a dead link from a leaf to one host, is no
// path's fault.
//
// A plane toward this host is suspected when `suspicion` packets on it are given up, and none sent since the last of
// them got through, though others of the host did. When no other host of the T0 hears on the plane either, its paths
// are blamed besides: one host alone cannot tell its own link from the leaf's. Probes of the paths do, once they go to
// a host toward which the plane is not suspected: then the paths come back, and this host's suspicion stays.
//
// No packet is sent there until `successes` probes to this host in a row are answered, or so many packets delivered
// that were sent after the suspicion. The last plane that is left is never suspected. Probes are timed as those of a
// dark plane (path_prober.h, decision D12).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "protocol/packet.h"
#include "protocol/paths/attention.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/path_prober.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class peer_planes
{
public:
    // `paths` lead to the host, and outlive this object. `who` asks its planes.
    peer_planes(const probe_config &probes, const path_group &paths, asker who = {});

    [[nodiscard]] plane_mask suspected() const { return suspected_; }
    // Nothing came from the host for `silence_patience` although it was asked; as of the last follow().
    [[nodiscard]] bool silent() const { return reported_.silent; }
    // For reports: has either changed since the last call?
    [[nodiscard]] bool follow(instant now);

    // What the QPs report.
    void on_sent(plane_index plane) { ++planes_[plane.value].unanswered; }
    void on_delivered(plane_index plane, instant sent_at)
    {
        record &at = planes_[plane.value];
        at.unanswered = 0;
        at.missing = 0;
        if (sent_at <= at.delivered)
            return;
        at.delivered = sent_at;
        latest_ = sent_at > latest_ ? sent_at : latest_;
        if (suspected_.has(plane))
            on_proof(plane, sent_at);
    }

    // Has anything that was sent on the plane then, or later, reached the host?
    [[nodiscard]] bool delivered_since(plane_index plane, instant sent_at) const
    {
        return planes_[plane.value].delivered >= sent_at;
    }

    // Nothing answers one of them; until something of the host's reaches any of them.
    void on_silence(instant now) { silent_since_ = std::min(silent_since_, now); }
    void on_heard() { silent_since_ = never; }

    // A packet that was sent on the plane then is missing: because nothing of the plane reaches the host any more?
    // Planes that lag by no more than `tolerance` are not dead.
    [[nodiscard]] bool on_missing(plane_index plane, instant since, duration tolerance = duration{0})
    {
        record &at = planes_[plane.value];
        at.missing_since = at.missing == 0 ? since : std::min(at.missing_since, since);
        ++at.missing;
        return at.delivered < since && at.missing >= suspicion && at.unanswered >= suspicion &&
               heard_since(std::max(since, at.missing_since + tolerance));
    }
    // False when it is the last plane of those `usable`.
    bool suspect(plane_index plane, plane_mask usable, instant now);

    // Somebody wants to reach the host, until then at least; without a word, for ever. Nobody does: nothing is probed,
    // and a suspicion stays until somebody does again.
    void watch(instant until)
    {
        until_ = until;
        resting_ = false;
        call_();
    }

    // Probes of suspected planes: endpoint EV probes, to this host.
    [[nodiscard]] std::optional<outgoing> next_packet(instant now);
    // False for an answer that nobody waits for.
    bool on_packet(const endpoint_response_packet &response, const arrival &how);
    [[nodiscard]] instant next_deadline() const
    {
        const instant due = prober_.next_deadline();
        return !resting_ && due <= until_ ? due : never;
    }
    // Who is called when anything but next_packet() may have brought the deadline forward.
    void attend(attention *by) { call_.attend(by); }

private:
    static constexpr instant long_ago = instant::min();
    static constexpr std::uint32_t suspicion = 3;
    // A host that is off its CPU for a moment is not worth a line in a log.
    static constexpr duration silence_patience = std::chrono::seconds{1};

    struct record {
        instant delivered = long_ago; // latest sending time of a packet known to have arrived
        instant suspected_at = long_ago;
        std::uint32_t unanswered = 0; // packets sent since the last known delivery
        std::uint32_t missing = 0;    // of them given up
        instant missing_since;        // when the first of these was sent
        unsigned turn = 0;            // path to probe next
    };

    struct report {
        plane_mask suspected;
        bool silent = false;
        friend bool operator==(const report &, const report &) = default;
    };

    // Has anything sent to the host at or after `since` arrived?
    [[nodiscard]] bool heard_since(instant since) const { return latest_ != long_ago && latest_ >= since; }
    void on_proof(plane_index plane, instant sent_at);
    void set_suspected(plane_index plane, bool is);

    const path_group &paths_;
    std::array<record, max_planes> planes_{};
    instant latest_ = long_ago;
    plane_mask suspected_;
    instant silent_since_ = never;
    report reported_;
    instant until_ = never; // there are probes
    bool resting_ = false;  // until_ has passed
    path_prober prober_;    // its paths are planes
    attention_caller call_;
};

} // namespace mrc::protocol
