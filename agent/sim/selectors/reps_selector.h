// SPDX-License-Identifier: Apache-2.0
// REPS: Recycled Entropy Packet Spraying (Bonato et al., arXiv 2407.21625; the published simulation code of
// ultraethernet/uet-htsim; protocol.md §11), for comparison with the MRC rule. Paths that just delivered
// without a mark are cached in a small ring, and each is used once more; a path that is not confirmed again is
// forgotten.
//
// mode       draw                                                       event, next
// recycling  oldest fresh cached path, once; none fresh: at random      loss: frozen
// frozen     cached paths in a ring, fresh or used; none: at random     `freeze_draws` draws: exploring, cache emptied
// exploring  at random                                                  `explore_draws` draws: recycling; loss: nothing
//
// Clean SACKs fill the cache in all modes. Frozen means: with a path failing, only what is known to have delivered is
// used, even if it is old. Loss is `lost`, not `trimmed`: trims are congestion, which only keeps a path out of the
// cache. The authors freeze for a time; here draws are counted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "protocol/paths/path_selector.h"
#include "sim/selectors/oblivious_selector.h"

namespace mrc::sim
{

struct reps_config {
    unsigned freeze_draws = 1024; // a window of 1024 PSNs
    unsigned explore_draws = 16;
};

enum class reps_mode : std::uint8_t { recycling, frozen, exploring };

class reps_selector final : public protocol::path_selector
{
public:
    explicit reps_selector(std::uint64_t seed, const reps_config &config = {}) : config_{config}, explorer_{seed} {}

    [[nodiscard]] std::optional<protocol::path_choice> draw(const protocol::path_group &paths,
                                                            protocol::plane_mask usable,
                                                            const protocol::path_avoidance &avoid) override;
    void on_feedback(std::uint16_t slot, protocol::path_feedback what) override;

    [[nodiscard]] reps_mode mode() const { return mode_; }
    [[nodiscard]] unsigned cached() const { return count_; }
    [[nodiscard]] unsigned fresh() const { return fresh_; }

private:
    static constexpr unsigned ring_size = 8; // the authors' choice

    // Oldest first: the `fresh_` newest of `count_` entries have not been used since they were cached.
    [[nodiscard]] std::uint16_t &entry(unsigned age_rank)
    {
        return ring_[(next_ + ring_size - count_ + age_rank) % ring_size];
    }
    void cache(std::uint16_t slot);
    void end_turn();
    [[nodiscard]] std::optional<std::uint16_t> recycle(const protocol::path_group &paths, protocol::plane_mask among);
    [[nodiscard]] std::optional<std::uint16_t> recall(const protocol::path_group &paths, protocol::plane_mask among);

    reps_config config_;
    oblivious_selector explorer_;
    std::array<std::uint16_t, ring_size> ring_{};
    unsigned next_ = 0;   // position of the next entry to cache
    unsigned count_ = 0;  // entries, used ones too
    unsigned fresh_ = 0;  // of them not used yet
    unsigned recall_ = 0; // while frozen: turn of the ring
    reps_mode mode_ = reps_mode::recycling;
    unsigned turns_left_ = 0; // of frozen and exploring
};

} // namespace mrc::sim
