// SPDX-License-Identifier: Apache-2.0
// One random scenario, all from its seed: fabric, QPs, faults, and writes in both directions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checked_stream.h"
#include "protocol/congestion/nscc.h"
#include "protocol/random_source.h"
#include "sim_network.h"

namespace mrc::sim
{

// What scenarios contain besides the faults of sim_faults.h.
enum class feature : std::uint8_t {
    immediates,
    solicited,
    immediates_held, // by max_wimm
    psn_wrap,
    several_qps,
    shared_control,
    nscc,
    nscc_software,
    other_selector,
    port_update,   // the peer learned of a port
    moving_window, // Dynamic MPR, and the window changed
    penalty,
    service_time,
    drained_queue, // SQD and back
    refused_write,
    retransmission,
    timeout,
    replaced_path,
    encoded,
    window_filled,
    lossless,
    denied_path,
    exchanged_evs,
    third_host,
    restarted_peer,
    measured_host, // rounds, batches and stalls of a real one
};
inline constexpr std::array<std::string_view, 26> feature_names{"immediates",
                                                                "solicited events",
                                                                "max_wimm holds",
                                                                "PSN wrap",
                                                                "several QPs",
                                                                "shared controller",
                                                                "NSCC",
                                                                "NSCC, software floors",
                                                                "other selectors",
                                                                "port status taken",
                                                                "Dynamic MPR",
                                                                "receiver penalty",
                                                                "service time",
                                                                "SQD",
                                                                "refused write",
                                                                "retransmission",
                                                                "time-out",
                                                                "path retired",
                                                                "codec in the loop",
                                                                "window filled",
                                                                "no loss",
                                                                "EV denied",
                                                                "EVs exchanged",
                                                                "third host",
                                                                "peer restarted",
                                                                "measured host"};

// Of both directions.
struct data_volume {
    std::uint64_t sent = 0; // packets, retransmissions included
    std::uint64_t retransmits = 0;
    std::uint64_t needless = 0; // network::needless()

    data_volume &operator+=(const data_volume &other);
};

class random_transfer
{
public:
    random_transfer(std::uint64_t seed, bool long_messages);

    void run();
    // Faults that took place, then features.
    static constexpr std::size_t classes = fault_names.size() + feature_names.size();
    [[nodiscard]] std::array<bool, classes> happened();
    [[nodiscard]] static std::string_view name_of(std::size_t which);
    [[nodiscard]] data_volume volume();
    // Faults hit all planes alike, the MRC rule chose the paths …
    [[nodiscard]] bool alike() const { return alike_ && !other_selectors_; }
    // … and yet a plane was given up as a whole.
    [[nodiscard]] bool plane_suspected() const { return plane_suspected_; }

private:
    [[nodiscard]] bool one_in(std::uint32_t n) { return random_.below(n) == 0; }
    [[nodiscard]] double up_to(double most) { return most * random_.below(1000) / 1000; }
    [[nodiscard]] duration between(duration least, duration most);
    [[nodiscard]] instant soon(); // mostly while packets fly
    [[nodiscard]] std::uint32_t draw_wide_window();
    [[nodiscard]] std::size_t memory_needed() const;
    void has(feature what) { features_[static_cast<std::size_t>(what)] = true; }

    // random_transfer.cpp: who takes part
    [[nodiscard]] network_config make_network();
    [[nodiscard]] worker_model make_worker();
    void make_pairs();
    [[nodiscard]] std::size_t make_control();
    [[nodiscard]] std::optional<std::size_t> make_selector();
    [[nodiscard]] pair_config make_pair(unsigned index);
    void make_wide_windows(protocol::qp_config &left, protocol::qp_config &right) const;
    void make_windows(protocol::qp_config &left, protocol::qp_config &right);
    void make_immediates(protocol::qp_config &from, protocol::qp_config &to);
    void make_streams();
    void add_streams(const pair_ends &ends, unsigned remote, bool refused);
    [[nodiscard]] std::vector<write_plan> make_plans(bool refused);
    [[nodiscard]] std::vector<write_plan> make_wide_plans();
    [[nodiscard]] std::uint32_t message_bytes();

    // random_faults.cpp: what goes wrong
    void make_faults();
    [[nodiscard]] path_model make_path();
    [[nodiscard]] outage make_outage(fault kind);
    void add_outages();
    void add_port_changes();
    void add_deaths();
    void add_pauses(host &at);
    void add_denials(host &at);
    void add_exchanges(host &at);
    void add_host_link_outage();
    void add_restart();
    void restart(std::size_t pair, const protocol::qp_config &left);
    void add_tuning();

    void follow(host &at);
    void check_control(const protocol::congestion_control &control) const;
    void check_end();
    void check_memory(host &to) const;
    [[nodiscard]] std::string describe();

    bool long_messages_;
    protocol::random_source random_;
    bool wide_; // messages longer than a window of thousands of PSNs, which fills while the receiver is off its CPU
    std::uint32_t wide_window_;
    bool lossless_; // packets are late, marked or repeated, and their receiver busy, yet all arrive
    bool alike_;    // faults hit all planes alike
    bool other_selectors_ = false;
    bool plane_suspected_ = false;
    bool clings_ = false; // some QP may use one path and no other (single path, or REPS with a frozen cache)
    bool running_ = true;
    std::array<bool, feature_names.size()> features_{};
    std::uint32_t largest_payload_;
    std::size_t used_bytes_ = 0;
    network net_;
    struct made_pair {
        pair_config config;
        pair_ends ends;
    };
    std::vector<made_pair> pairs_;
    std::vector<checked_stream> streams_; // two of each pair
    unsigned restarts_ = 0;               // that are still to come
};

} // namespace mrc::sim
