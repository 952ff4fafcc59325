// SPDX-License-Identifier: Apache-2.0
// Ports, planes, peers and paths that go out of use and come back, links that are found at fault, sessions and queue
// pairs that come and go: each is an event (struct mrc_event_row), which is kept, and one line of the log, which is
// that event's text. Ports, planes, peers and links are logged at `info`, each class within its rate; paths, sessions
// and queue pairs at `debug`. Drops, which programs keep themselves, are logged as ports are, but for what a queue pair
// that has just been closed leaves behind.
//
// One thread, with the time as an argument.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "mrc/abi/maps.h"
#include "protocol/paths/path_group.h"
#include "protocol/rate_limit.h"
#include "service/config/config.h"

namespace mrc::service
{

struct peer_condition {
    protocol::plane_mask ports;     // usable, as the peer says
    protocol::plane_mask suspected; // planes on which packets do not reach it
    bool silent = false;            // nothing at all comes from it, although it is asked
};

// What a path's rows say of it.
struct path_figures {
    std::uint32_t row = 0;
    std::uint64_t tx_packets = 0;
    std::uint64_t losses = 0;
    std::uint64_t last_ack_ns = 0; // CLOCK_MONOTONIC; 0: none yet
};

struct queue_pair_names {
    std::uint32_t qpn = 0;
    std::uint32_t peer_qpn = 0;
    std::uint32_t session = 0;
    mrc_ip peer{};
};

class transition_log
{
public:
    // So many lines of a class at once, and one more in each interval: what flaps all day leaves a log that people can
    // read.
    static constexpr unsigned burst = 32;
    static constexpr protocol::duration interval = std::chrono::seconds{1};

    struct surroundings {
        unsigned planes = 0;
        // A line, and the event whose text it is; null: it counts lines that were held back.
        std::function<void(log_level, const std::string &, const mrc_event_row *)> write;
        std::function<void(const mrc_event_row &)> keep; // its number and the wall clock's time are still to be given
        // The one host that paths to a leaf lead to, by the leaf's number; zero: there may be several.
        std::function<mrc_ip(std::uint32_t leaf)> sole_host;
    };
    explicit transition_log(surroundings around) : around_{std::move(around)} {}

    void on_port(const port_options &port, bool usable, mrc_port_reason reason, protocol::instant now);

    // The paths of one plane to one leaf, of one EV profile.
    struct bundle {
        std::uint64_t profile = 0;
        std::uint32_t leaf = 0;
        unsigned plane = 0;
        friend auto operator<=>(const bundle &, const bundle &) = default;
    };
    // The plane goes out of use with the last of the `paths` in it, and comes back with the first.
    void on_path(const bundle &which, unsigned uplink, unsigned paths, const protocol::path_condition &condition,
                 const path_figures &figures, protocol::instant now);
    // Its paths are gone.
    void forget_profile(std::uint64_t profile)
    {
        std::erase_if(lost_, [profile](const auto &known) { return known.first.profile == profile; });
    }

    void forget_group(std::uint64_t profile, std::uint32_t leaf)
    {
        std::erase_if(lost_,
                      [=](const auto &known) { return known.first.profile == profile && known.first.leaf == leaf; });
    }

    void on_peer(const mrc_ip &peer, const peer_condition &condition, protocol::instant now);
    void forget_peer(const mrc_ip &peer);

    // As event_of() (fabric_map/fault_event.h) makes it.
    void on_link(const mrc_event_row &event, protocol::instant now) { note(event, now); }

    void on_session_opened(std::uint32_t session, const mrc_client_row &client, protocol::instant now);
    // With what the client had then.
    void on_session_closed(std::uint32_t session, const mrc_client_row &client, mrc_event_reason reason,
                           protocol::instant now);

    // To what `kind` says: connected, in error, closed.
    void on_queue_pair(mrc_event_kind kind, const queue_pair_names &which, mrc_event_reason reason,
                       protocol::instant now);

    // More failed at once than could be noted.
    void on_untold_failures(std::uint32_t count, protocol::instant now);

    // As a program has written it into `events`: only the log is still to be told.
    void on_drops(const mrc_event_row &event, protocol::instant now) { tell(event, now); }

    // Lines held back are counted here as soon as their class may have a line again; `never`: there are none.
    [[nodiscard]] protocol::instant next_deadline() const;
    void on_deadline(protocol::instant now);

private:
    struct line_rate {
        protocol::rate_limit rate{interval, burst};
        std::uint64_t held_back = 0;
    };

    [[nodiscard]] mrc_event_row plane_event(const bundle &which, unsigned paths,
                                            const protocol::path_condition &condition) const;
    void note(mrc_event_row event, protocol::instant now);
    void tell(const mrc_event_row &event, protocol::instant now);
    void write_held_back(mrc_event_class of, protocol::instant now);

    surroundings around_;
    std::array<line_rate, MRC_EVENTS_OF_DROPS + 1> rates_; // of classes at `info`
    std::map<bundle, std::set<unsigned>> lost_;            // uplinks whose paths are out of use
    std::map<std::string, peer_condition> peers_;          // by address; of those that have changed
};

} // namespace mrc::service
