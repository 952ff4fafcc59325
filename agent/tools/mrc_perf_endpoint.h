// SPDX-License-Identifier: Apache-2.0
// This host's part of a run: a session with mrcd, registered memory, queue pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "service/session_client.h"
#include "tools/mrc_perf_exchange.h"

namespace mrc::perf
{

// Sums over the queue pairs of a run. What they share (path states, packets per plane) is taken once; packets per plane
// are those since the run began, of all that this host exchanges with the peer's leaf.
struct traffic {
    service::qp_report sum{};
    service::status_report host{}; // of the whole daemon, since the run began
    std::uint32_t planes = 0;
};

class endpoint
{
public:
    // Throws perf_error when no mrcd answers.
    explicit endpoint(const std::string &socket_path);

    // Memory and queue pairs for a plan. A side that only sends needs no memory to be written, and the other way round.
    void prepare(const test_plan &plan, bool sends, bool receives);
    void connect(const side &peer);
    [[nodiscard]] side identity() const;
    [[nodiscard]] const side &peer() const { return peer_; }
    [[nodiscard]] const service::hello_reply &host() const { return session_.host(); }

    // Slot `slot` of queue pair `qp`, plan.size bytes.
    [[nodiscard]] std::span<std::byte> send_slot(std::uint32_t qp, std::uint64_t slot) const;
    [[nodiscard]] std::span<std::byte> receive_slot(std::uint32_t qp, std::uint64_t slot) const;

    // WRITEs `bytes` of send slot to the peer's receive slot.
    void write(std::uint32_t qp, std::uint64_t from_slot, std::uint64_t to_slot, std::uint64_t bytes);
    // How many WRITEs of this queue pair have completed since the last call; throws when one failed.
    std::uint32_t completed(std::uint32_t qp);

    // Until something can be done: a completion, or one of `others` is readable. Throws when mrcd is gone.
    void wait(std::span<const int> others, std::chrono::milliseconds limit);
    void check_daemon() const; // throws when mrcd is gone
    [[nodiscard]] traffic query();
    void reset_stall();

private:
    [[nodiscard]] std::uint64_t offset(std::uint32_t qp, std::uint64_t slot) const;

    service::session session_;
    test_plan plan_;
    service::registered_memory send_memory_;
    service::registered_memory receive_memory_;
    std::vector<service::session_qp> qps_;
    side peer_;
    std::optional<traffic> first_; // when the run began
};

// "retry_exceeded" and so on, as verbs programmers know them.
[[nodiscard]] std::string completion_word(std::uint32_t status);

} // namespace mrc::perf
