// SPDX-License-Identifier: Apache-2.0
// Two live ends of a QP whose packets wait on wires until the fuzzer decides about them, and what must hold of them:
//   whatever is forged   no more than was posted completes, in order, and only what was sent;
//                        payload is offered to memory only as it came; the flight is never negative or too large;
//                        timers that have run leave a later deadline
//   nothing was forged   a write that succeeds is in the peer's memory, an immediate is what was posted, in order;
//                        once the wires work again, all that was posted completes
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "forged_packet.h"
#include "fuzz_input.h"
#include "protocol/memory_sink.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/paths/port_status.h"
#include "protocol/queue_pair.h"

namespace mrc::fuzz
{

void require(bool condition, const char *what);

class checked_memory final : public protocol::memory_sink
{
public:
    static constexpr std::uint64_t base = 0x1000'0000;
    static constexpr std::uint32_t key = 0x77;
    static constexpr std::size_t size = 32 * 1024;

    std::expected<void, protocol::write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                                       std::span<const std::byte> payload) override;
    void busy(bool on) { busy_ = on; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_ = std::vector<std::byte>(size);
    bool busy_ = false;
};

struct posted_write {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
    bool allowed = true; // its key exists
    bool signaled = true;
    std::optional<std::uint32_t> immediate;
    std::int64_t end = 0; // packets of the QP up to and with this write's last
};

struct side {
    side(const protocol::path_group_config &group, const protocol::qp_config &config, bool nscc_control);

    protocol::local_ports ports;
    protocol::path_group paths;
    protocol::port_status status;
    checked_memory memory;
    std::unique_ptr<protocol::congestion_control> control;
    protocol::qp_config config;
    protocol::peer_planes planes;
    protocol::queue_pair qp;

    std::deque<protocol::outgoing> wire; // sent by this side, not yet decided about
    std::vector<posted_write> writes;
    std::uint32_t used = 0;    // bytes of the peer's memory
    std::size_t completed = 0; // writes
    std::size_t receives_posted = 0;
    std::size_t receives_taken = 0;
    std::size_t next_immediate = 0; // of the peer's writes
    std::int64_t sent = 0;          // packets of the QP, first transmissions
    std::int64_t expected = 0;      // an estimate of the peer's progress, for forgeries
    std::uint8_t offered_mpr = 0;   // Dynamic MPR that its SACKs offer, at most its own; 0: that
};

class live_pair
{
public:
    explicit live_pair(fuzz_input &input);

    void step(fuzz_input &input);
    // A packet from nowhere to both ends, and what follows from it.
    void inject(const protocol::packet &content, std::span<const std::byte> payload, protocol::ev entropy,
                bool trimmed);
    // Everything works from now on; what was posted must complete if nothing was forged.
    void finish();

private:
    void post(side &from, fuzz_input &input);
    void transmit(side &from, unsigned most);
    void deliver(side &from, std::size_t index, bool keep, fuzz_input &input);
    void hand_over(side &to, const protocol::packet &content, std::span<const std::byte> payload,
                   const protocol::arrival &how);
    void forge_to(side &to, fuzz_input &input);
    void damage(side &from, fuzz_input &input);
    void change_surroundings(side &at, fuzz_input &input);
    void modify(side &at, fuzz_input &input);
    void run_timers(side &at);
    void look(side &at);
    void look_at_completions(side &at);
    void look_at_receives(side &at);
    [[nodiscard]] side &peer_of(side &one) { return &one == sides_[0].get() ? *sides_[1] : *sides_[0]; }
    [[nodiscard]] protocol::arrival arrival_of(const protocol::outgoing &packet) const;
    [[nodiscard]] bool all_done() const;

    std::array<std::unique_ptr<side>, 2> sides_;
    std::vector<std::byte> source_; // both sides send from the same bytes
    protocol::instant now_{std::chrono::seconds{1}};
    bool forged_ = false; // trust is gone
};

} // namespace mrc::fuzz
