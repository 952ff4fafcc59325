// SPDX-License-Identifier: Apache-2.0
// This host's part of a run, through the public API: a device, registered memory, queue pairs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/mrc-perf/device.h"
#include "tools/mrc-perf/exchange.h"
#include "tools/mrc-perf/memory.h"
#include "tools/mrc-perf/traffic.h"

namespace mrc::perf
{

class endpoint
{
public:
    // Throws perf_error when no mrcd answers. `device`: its name; empty: the only one.
    explicit endpoint(const std::string &device);

    // Memory and queue pairs for all runs of a plan. A side that only sends needs no memory to be written, and the
    // other way round.
    void prepare(const test_plan &plan, bool sends, bool receives);
    void connect(const side &peer);
    // Names this host by its IPv4 address from now on. False when it has none.
    bool use_ipv4();
    [[nodiscard]] side identity() const;
    [[nodiscard]] const side &peer() const { return peer_; }
    // What the peer cannot know before it is connected.
    void set_peer_payload(std::uint32_t bytes) { peer_.payload_bytes = bytes; }

    // One run, whose messages have their own size and window, begins: counters and memory are as if it were the first.
    void begin(const test_plan &run);

    // Slot `slot` of queue pair `qp`, as long as a message of the run.
    [[nodiscard]] std::span<std::byte> send_slot(std::uint32_t qp, std::uint64_t slot) const;
    [[nodiscard]] std::span<std::byte> receive_slot(std::uint32_t qp, std::uint64_t slot) const;

    // WRITEs `bytes` of send slot to the peer's receive slot.
    void write(std::uint32_t qp, std::uint64_t from_slot, std::uint64_t to_slot, std::uint64_t bytes);
    // Looks for completed WRITEs; false: there are none that are new. Throws when one failed.
    bool take_completions();
    // WRITEs of this run that have completed: by queue pair, and all of them.
    [[nodiscard]] std::span<const std::uint64_t> completed() const { return completed_; }
    [[nodiscard]] std::uint64_t all_completed() const { return all_completed_; }
    // With --events: the peer's messages of this run that have arrived, of which completions tell.
    [[nodiscard]] std::uint64_t received() const { return received_; }

    // Until something can be done: a completion, with --events of a message only, or one of `others` is readable; false
    // when it was but a completion. Throws when mrcd is gone.
    bool wait(std::span<const int> others, std::chrono::nanoseconds limit);
    void check_daemon(); // throws when mrcd is gone
    [[nodiscard]] traffic query();
    void reset_stall();

private:
    void create_queues(std::uint32_t depth);
    [[nodiscard]] std::uint64_t offset(std::uint32_t qp, std::uint64_t slot) const;
    bool take_from(mrc_cq *cq);
    void post_receive();
    void take_events();

    mrc_device device_;
    test_plan plan_;
    registered_memory send_memory_;
    registered_memory receive_memory_;
    channel_handle events_;
    int events_fd_ = -1;
    std::vector<cq_handle> cqs_;
    std::vector<qp_handle> qps_;
    std::vector<qp_identity> names_; // of qps_
    side peer_;
    std::uint32_t payload_bytes_ = 0; // once connected
    int gid_index_;
    std::vector<std::uint64_t> completed_;
    std::uint64_t all_completed_ = 0;
    std::uint64_t received_ = 0;
    traffic first_;     // when the run began
    bool used_ = false; // a run has begun before
};

} // namespace mrc::perf
