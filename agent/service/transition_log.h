// SPDX-License-Identifier: Apache-2.0
// What the log says of ports, planes, peers and paths that go out of use and come back: one line each, with the reason.
// Ports, planes and peers at `info`, each kind within its rate; paths at `debug`.
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
#include <string_view>
#include <utility>

#include "mrc/abi/ip.h"
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

class transition_log
{
public:
    // So many lines of a kind at once, and one more in each interval: what flaps all day leaves a log that can be read.
    static constexpr unsigned burst = 32;
    static constexpr protocol::duration interval = std::chrono::seconds{1};

    using sink = std::function<void(log_level, const std::string &)>;
    // Whom paths lead to, by the number of the leaf.
    using leaf_names = std::function<std::string(std::uint32_t leaf)>;
    transition_log(unsigned planes, sink write, leaf_names names)
        : planes_{planes}, write_{std::move(write)}, leaf_name_{std::move(names)}
    {
    }

    void on_port(const port_options &port, bool usable, std::string_view reason, protocol::instant now);

    // The paths of one plane to one leaf, of one EV profile.
    struct bundle {
        std::uint64_t profile = 0;
        std::uint32_t leaf = 0;
        unsigned plane = 0;
        friend auto operator<=>(const bundle &, const bundle &) = default;
    };
    // The plane goes out of use with the last of the `paths` in it, and comes back with the first.
    void on_path(const bundle &which, unsigned uplink, unsigned paths, const protocol::path_condition &condition,
                 protocol::instant now);
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

    // Lines held back are counted here as soon as their kind may have a line again; `never`: there are none.
    [[nodiscard]] protocol::instant next_deadline() const;
    void on_deadline(protocol::instant now);

private:
    struct kind {
        std::string_view name; // "ports"
        protocol::rate_limit rate{interval, burst};
        std::uint64_t held_back = 0;
    };

    [[nodiscard]] std::string name_of(const bundle &which) const;
    void write(kind &of, const std::string &line, protocol::instant now);
    void write_held_back(kind &of, protocol::instant now);

    unsigned planes_;
    sink write_;
    leaf_names leaf_name_;
    std::array<kind, 3> kinds_{kind{.name = "ports"}, kind{.name = "planes"}, kind{.name = "peers"}};
    std::map<bundle, std::set<unsigned>> lost_;   // uplinks whose paths are out of use
    std::map<std::string, peer_condition> peers_; // by address; of those that have changed
};

} // namespace mrc::service
