// SPDX-License-Identifier: Apache-2.0
// Heartbeats: EV probes of healthy paths that nothing else is heard of.
//
// who uses the paths                                  asked
// ordinary sockets over the overlay, of whose         once per `period`
// acknowledgements we see none; queue pairs that
// receive: nobody acknowledges their answers
// queue pairs: their own acknowledgements show a      once per `idle_period`, so that the state of a path is no older
// dead path, but not while they have nothing to send
// nobody                                              not at all
//
// answer                                              the path lives
// none within `patience`                              asked again at once
// `misses` in a row, and other paths answered since   the path is blamed: next_silence()
// `misses` in a row, and nobody answered since        the peer is gone, no path's fault: asked again in the next period
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/request_ids.h"
#include "protocol/types.h"

namespace mrc::protocol
{

struct heartbeat_config {
    duration period = std::chrono::milliseconds{100};
    duration idle_period = std::chrono::seconds{1};
    duration patience = std::chrono::milliseconds{10};
    unsigned misses = 3;
    unsigned per_period = 64; // of larger groups a part at a time: at most 640 first questions a second, 64 when idle
};

class path_heartbeat
{
public:
    path_heartbeat(const heartbeat_config &config, unsigned planes, unsigned uplinks, id_range ids = heartbeat_ids);

    // Traffic that reports nothing uses the group, until then at least.
    void watch(instant until) { until_ = std::max(until_, until); }
    // Queue pairs that may have nothing to send do.
    void watch_idle(instant until) { idle_until_ = std::max(idle_until_, until); }

    // Slots whose turn it is; each is followed by ask() or, when the path need not be asked, by skip().
    [[nodiscard]] std::optional<std::uint16_t> next_slot(instant now);
    [[nodiscard]] std::uint16_t ask(std::uint16_t slot, instant now); // returns the request id
    void skip(std::uint16_t slot) { paths_[slot].missed = 0; }

    // A path that has missed its last chance, and since when it is silent. To be emptied before next_slot().
    struct silence {
        std::uint16_t slot = 0;
        instant since;
    };
    [[nodiscard]] std::optional<silence> next_silence(instant now);

    struct answer {
        std::uint16_t slot = 0;
        instant sent_at;
    };
    [[nodiscard]] std::optional<answer> on_answer(std::uint16_t request_id);
    // Nothing has answered since the path missed an answer.
    [[nodiscard]] bool missed(unsigned slot) const { return paths_[slot].missed != 0; }
    [[nodiscard]] instant next_deadline() const;
    [[nodiscard]] duration period() const { return config_.period; }

private:
    enum class phase : std::uint8_t { resting, awaiting, repeating };
    struct record {
        phase at = phase::resting;
        std::uint8_t missed = 0;
        std::uint16_t request_id = 0;
        instant sent_at;
        instant silent_since; // sent_at of the first that was missed
    };

    void move(record &path, phase to);
    void rest();
    [[nodiscard]] std::optional<std::uint16_t> next_repetition();
    [[nodiscard]] instant next_round() const;

    heartbeat_config config_;
    unsigned planes_;
    unsigned uplinks_;
    std::vector<record> paths_;
    std::vector<std::uint16_t> asked_; // request id modulo size -> slot; the size is a power of two
    id_range ids_;
    std::uint16_t next_id_;
    unsigned awaiting_ = 0;
    unsigned repeating_ = 0;
    unsigned cursor_ = 0; // where in the round
    unsigned left_ = 0;   // slots still to visit in this period
    instant until_;
    instant idle_until_;
    instant last_round_;            // when it began
    instant first_overdue_ = never; // nothing is overdue before
};

} // namespace mrc::protocol
