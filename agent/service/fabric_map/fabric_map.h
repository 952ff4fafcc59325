// SPDX-License-Identifier: Apache-2.0
// The fabric map: on a thread of its own this host sends loops (loop_ways.h) that come back to it from its leaves and
// from each spine; host_rx counts those that arrive; what does not come back says which link is at fault
// (fabric_judge.h). The rows of `loops` show it. What other hosts find is put together with it (fault_watch.h), and
// what changes is told.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "kernel/host_tables.h"
#include "kernel/unique_fd.h"
#include "service/config/config.h"
#include "service/fabric_map/crossing_loops.h"
#include "service/fabric_map/fabric_judge.h"
#include "service/fabric_map/fault_watch.h"
#include "service/fabric_map/loop_record.h"
#include "service/fabric_map/loop_schedule.h"
#include "service/fabric_map/loop_sender.h"
#include "service/fabric_map/loop_ways.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

struct link_change {
    loop_way way;
    link_verdict verdict;
    protocol::instant at;
};

class fabric_map
{
public:
    struct surroundings {
        const daemon_config &config;
        const fabric_rules &rules;                          // borrowed
        const kernel::host_tables &tables;                  // borrowed
        std::uint64_t cookie = 0;                           // as host_rx has it
        std::function<void(const link_change &)> on_change; // of this host's own ways; on the thread, as the next
        std::function<void(const fault_change &)> on_fault; // of what hosts find together
    };
    // Throws startup_error. There are ways for loops to go.
    explicit fabric_map(surroundings around);
    fabric_map(const fabric_map &) = delete;
    fabric_map &operator=(const fabric_map &) = delete;
    ~fabric_map(); // ends the thread

    void start();
    // The hosts to exchange reports with, from any thread.
    void know(std::vector<host_place> hosts) { faults_.know(std::move(hosts)); }
    // As fault_watch's.
    [[nodiscard]] int problem() const { return faults_.problem(); }

private:
    void run();
    void round(protocol::instant now);
    void follow_ports();
    void send(protocol::instant now);
    void judge(protocol::instant now);
    void judge_way(std::uint32_t way, protocol::instant now);
    void evaluate(protocol::instant now);
    [[nodiscard]] mrc_link_direction direction_of(std::uint32_t way) const;
    void show(std::uint32_t way);
    [[nodiscard]] mrc_link_blame blame_of(std::uint32_t way) const;
    [[nodiscard]] link_report report(protocol::instant now) const;
    void tell(std::uint32_t way, protocol::instant now);
    [[nodiscard]] protocol::instant heard_beside(const loop_way &way) const;

    surroundings around_;
    std::vector<loop_way> all_ways_;   // as the rows of `loops`
    std::vector<loop_way> ways_;       // those of them that are judged, the first
    std::vector<loop_record> records_; // by way, as the next
    std::vector<mrc_link_state> told_;
    fault_watch faults_;
    fabric_judge judge_;
    loop_schedule schedule_;
    crossing_loops crossings_;
    loop_sender sender_;
    std::vector<loop_sender::departure> batch_;
    bool is_any_suspect_ = false;
    protocol::instant evaluated_ = protocol::instant::min();
    reception reception_;
    protocol::instant due_ = protocol::never; // of the round that is waited for
    struct plane_reception {
        std::uint32_t ifindex = 0;                                  // that loops leave by; 0: none do
        protocol::instant heard_of_leaf = protocol::instant::min(); // when the latest that has come back was sent
        protocol::instant heard = protocol::instant::min();         // by any way
    };
    std::array<plane_reception, MRC_MAX_PORTS> planes_{};
    kernel::unique_fd stop_; // readable: the thread ends
    std::thread thread_;
};

} // namespace mrc::service
