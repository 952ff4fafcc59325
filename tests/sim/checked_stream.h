// SPDX-License-Identifier: Apache-2.0
// One direction of a QP under test: posts what was planned, and holds the protocol to its promises as they fall due.
//   a write completes               it and all before it are in the peer's memory
//   an immediate is delivered       all writes before it are in memory; id, bytes, value and event are as planned
//   a write that must be refused    completes with its error; those after it are flushed, those before it succeed
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim_network.h"

namespace mrc::sim
{

struct write_plan {
    std::size_t offset = 0; // of the source, and of the target
    std::uint32_t bytes = 0;
    bool signaled = true;
    std::optional<std::uint32_t> immediate;
    bool solicited = false;
    bool forbidden = false; // goes to a key that does not exist
    instant not_before;
};

class checked_stream
{
public:
    struct endpoint {
        host &at;
        std::size_t index = 0;
    };
    // `fails`: the QP will, by a write of either direction.
    checked_stream(network &net, endpoint from, endpoint to, bool fails, std::vector<write_plan> plans)
        : net_{&net}, from_{&from.at}, to_{&to.at}, from_end_{from.index}, to_end_{to.index}, fails_{fails},
          plans_{std::move(plans)}
    {
    }

    // Posts what is due. Called after each turn of either host, and at the times that plans name.
    void post();
    // Looks at what became known since the last call.
    void check();
    // An end is torn down with what it had posted: what has not completed may or may not arrive.
    void abandon() { abandoned_ = true; }
    [[nodiscard]] bool done() const;
    // Once done: nothing is left over, and nothing is missing.
    void check_end() const;

    [[nodiscard]] const std::vector<write_plan> &plans() const { return plans_; }
    [[nodiscard]] std::size_t posted() const { return posted_; }
    [[nodiscard]] const qp_end &sender() const { return *from_->ends[from_end_]; }
    [[nodiscard]] const qp_end &receiver() const { return *to_->ends[to_end_]; }
    [[nodiscard]] const host *source() const { return from_; }
    [[nodiscard]] const host *target() const { return to_; }
    // Writes that have to be in memory at the end.
    [[nodiscard]] std::size_t owed() const { return abandoned_ ? verified_ : forbidden_at(); }
    // Index of the write that must be refused; plans().size() when there is none.
    [[nodiscard]] std::size_t forbidden_at() const;
    // More messages with immediate are posted than may be under way.
    [[nodiscard]] bool held_by_immediates() const;
    // Nothing more may be sent before something arrives. The sender does not know what has arrived since the last SACK,
    // at most 16 KiB.
    [[nodiscard]] bool fills_window() const;
    [[nodiscard]] bool wraps() const;

private:
    void verify_until(std::size_t end);
    void check_completion(const protocol::completion &got);
    void check_receive(const protocol::receive_completion &got);

    network *net_;
    host *from_;
    host *to_;
    std::size_t from_end_;
    std::size_t to_end_;
    bool fails_;
    bool abandoned_ = false;
    std::vector<write_plan> plans_;
    std::size_t posted_ = 0;
    std::size_t immediates_posted_ = 0;
    std::size_t immediates_delivered_ = 0;
    std::size_t verified_ = 0; // writes found in memory
    std::size_t completions_seen_ = 0;
    std::size_t next_completion_ = 0; // plan
    std::size_t receives_seen_ = 0;
    std::size_t next_immediate_ = 0; // plan
};

} // namespace mrc::sim
