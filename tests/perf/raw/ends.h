// SPDX-License-Identifier: Apache-2.0
// The two ends of a run: one that sends and measures, and one that counts or answers for as many runs as come.
//
// No packet is sent twice and none is waited for. What keeps a stream from overrunning the far end is a window: the far
// end tells, some eight times a window, how far it has got. Where it says nothing for 100 ms, what is under way is
// taken for lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "datapath/transmit_engine.h"
#include "raw/packet.h"
#include "raw/ports.h"
#include "raw/transmit.h"

namespace mrc::raw
{

struct end_settings {
    std::vector<path> paths;     // each by a device of its own
    bool live_frames = false;    // transmit by XDP, not by AF_XDP
    bool from_region = false;    // with live_frames: payload from memory that is the program's and raw_push's
    raw_mode in_xdp = RAW_WHOLE; // what the XDP program does with what arrives
    bool icrc = false;           // written, and checked by whoever takes the payload
    bool copy = false;           // payload from and to a buffer of a program's, 1 MiB
    bool sleep = false;          // in poll() while there is nothing to do; without, an end spins
    std::uint32_t burst = 64;    // packets between two looks at what arrives, and frames of a call
};

// Of a run: the far end is silent.
struct run_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What both ends have: ports, a way to transmit, and a place to sleep.
class end
{
public:
    // Throws kernel::startup_error.
    explicit end(const end_settings &settings);

    // The longest payload that devices and both ways to transmit take.
    [[nodiscard]] std::uint32_t longest_payload() const { return longest_payload_; }
    [[nodiscard]] datapath::transmit_engine &engine() const { return *engine_; }
    [[nodiscard]] ports &way() { return ports_; }
    [[nodiscard]] const end_settings &settings() const { return settings_; }
    [[nodiscard]] std::size_t paths() const { return settings_.paths.size(); }

    // Writes a packet whose payload `fill(std::span<std::byte>)` puts in its place; it leaves with the next flush().
    // Only while the engine is ready.
    template <typename Fill>
    void queue(const note &what, Fill &&fill)
    {
        const std::span<std::byte> inner = engine_->reserve(what.path);
        write_inner(inner, what);
        if (settings_.from_region)
            write_source(inner, what, live_->region(), settings_.icrc);
        else
            fill(inner.subspan(payload_at, what.payload_bytes));
        if (settings_.icrc && !settings_.from_region)
            write_icrc(inner.first(inner_bytes(what.payload_bytes)));
        engine_->commit({.path = what.path,
                         .host_usid = usids_[what.path],
                         .bytes = static_cast<std::uint16_t>(inner_bytes(what.payload_bytes))});
    }
    // Queues, and sends at once; drops it where there is no room.
    template <typename Fill>
    void send(const note &what, Fill &&fill)
    {
        if (engine_->ready())
            queue(what, fill);
        engine_->flush();
    }
    // Of a frame that has arrived. Nothing when it is no packet of ours, or damaged.
    [[nodiscard]] std::optional<arrival> parse(std::span<const std::byte> frame) const
    {
        const auto packet = parse_frame(frame, settings_.in_xdp == RAW_PLACE);
        if (packet && settings_.icrc && packet->inner.size() > payload_at && !raw::has_right_icrc(*packet))
            return std::nullopt;
        return packet;
    }
    void idle(int limit_ms)
    {
        if (settings_.sleep)
            ports_.wait(limit_ms);
    }

private:
    end_settings settings_;
    std::vector<std::uint16_t> usids_; // the far host's, by path
    ports ports_;
    std::unique_ptr<live_transmit> live_;
    std::unique_ptr<ring_transmit> rings_;
    datapath::transmit_engine *engine_ = nullptr; // one of them
    std::uint32_t longest_payload_ = 0;
};

// Counts, copies and answers what arrives, without an end; `on_ready` is called once it does. Throws
// kernel::startup_error.
[[noreturn]] void serve(const end_settings &settings, const std::function<void()> &on_ready);

struct run_settings {
    std::uint32_t payload_bytes = 0;
    std::uint32_t seconds = 0;
    std::uint32_t window = 0; // packets under way
};

struct run_result {
    std::uint64_t sent = 0;
    run_totals far;                     // what arrived
    std::uint64_t answered = 0;         // of pings
    std::uint64_t foreign = 0;          // packets to our port here that are not of the run
    std::uint64_t refused = 0;          // by the XDP program here, of any run
    std::uint64_t silences = 0;         // times that the far end said nothing for 100 ms
    std::vector<std::uint32_t> half_ns; // half round trips, in ascending order
};

// As many data packets as the window lets go. Throws run_error.
[[nodiscard]] run_result run_stream(end &own, const run_settings &settings);
// One packet at a time, back and forth, each by the next path. Throws run_error.
[[nodiscard]] run_result run_ping_pong(end &own, const run_settings &settings);

} // namespace mrc::raw
