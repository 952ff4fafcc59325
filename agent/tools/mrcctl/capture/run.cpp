// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "kernel/monotonic_clock.h"
#include "tools/mrcctl/capture/file.h"
#include "tools/mrcctl/capture/lease.h"
#include "tools/mrcctl/capture/reader.h"
#include "tools/mrcctl/orderly_end.h"
#include "tools/mrcctl/process.h"

namespace mrc::ctl
{

namespace
{

constexpr std::chrono::milliseconds between_looks{1}; // the slots hold what comes in that time
constexpr std::uint64_t ns_in_s = 1'000'000'000;

// What happened to packets that the filter chose, since mrcd began.
struct capture_tally {
    std::uint64_t no_room = 0;
    std::uint64_t over_rate = 0;
};

capture_tally tally_of(mrc_capture_ring &ring)
{
    const auto load = [](__u64 &word) { return std::atomic_ref{word}.load(std::memory_order_relaxed); };
    return {.no_room = load(ring.no_room), .over_rate = load(ring.over_rate)};
}

class capture_run
{
public:
    capture_run(const host_maps &maps, const capture_options &options)
        : maps_{maps}, options_{options}, pins_{maps.of()},
          destination_{options.filter.qpn ? destination_filter{maps, *options.filter.qpn} : destination_filter{}}
    {
    }

    // The exit status.
    int run()
    {
        std::optional<capture_lease> lease{std::in_place, pins_.ring(),
                                           settings_of(options_.filter, destination_.peer_qpn()), lease_clock,
                                           lease_pause};
        const capture_tally before = tally_of(pins_.ring());
        capture_file file{options_.file, maps_, options_.filter.snap_bytes};
        file.flush();
        fmt::print(stderr, "mrcctl: capturing on instance '{}'\n", maps_.of().name);
        follow(*lease, file);
        const std::uint64_t lapses = lease->lapses();
        lease.reset();
        take(file); // what came before the lease ended
        tell(file, before, lapses);
        return has_ended_ ? 1 : 0;
    }

private:
    void follow(capture_lease &lease, capture_file &file)
    {
        const std::uint64_t start = lease_clock();
        const std::uint64_t end_ns =
            options_.seconds ? start + static_cast<std::uint64_t>(*options_.seconds * ns_in_s) : UINT64_MAX;
        std::uint64_t next_look_ns = start;
        for (std::uint64_t now = start; !is_to_end() && now < end_ns && !is_full(file) && !has_ended_;
             now = lease_clock()) {
            lease.renew();
            if (now >= next_look_ns) {
                has_ended_ = !look_at_daemon(maps_.host()).alive;
                next_look_ns = now + renewal_ns;
            }
            take(file);
            std::this_thread::sleep_for(between_looks);
        }
    }

    [[nodiscard]] bool is_full(const capture_file &file) const
    {
        return options_.count && file.packets() >= *options_.count;
    }

    void take(capture_file &file) const
    {
        take_copies(pins_.ring(), pins_.slots(), [&](const mrc_capture_slot &slot) {
            const auto bytes =
                std::as_bytes(std::span{slot.bytes}).first(std::min<std::size_t>(slot.captured, sizeof(slot.bytes)));
            const bool goes_there =
                direction_of(slot.point) == packet_direction::inbound || destination_.passes(maps_, bytes);
            if (!is_full(file) && goes_there)
                file.add(slot, to_real_ns_);
        });
        file.flush();
    }

    void tell(const capture_file &file, const capture_tally &before, std::uint64_t lapses) const
    {
        const capture_tally now = tally_of(pins_.ring());
        fmt::print(
            stderr,
            "mrcctl: {} copies of packets written; {} copies lost, no slot was free; {} packets left out, beyond "
            "the rate\n",
            file.packets(), now.no_room - before.no_room, now.over_rate - before.over_rate);
        if (lapses != 0)
            fmt::print(stderr,
                       "mrcctl: {} times nothing was copied for a while: mrcctl had been held up for a second\n",
                       lapses);
        if (has_ended_)
            fmt::print(stderr, "mrcctl: mrcd of instance '{}' has ended\n", maps_.of().name);
    }

    const host_maps &maps_;
    const capture_options &options_;
    capture_maps pins_;
    destination_filter destination_;
    // Once for all packets: their distances are those of the one clock.
    std::uint64_t to_real_ns_ = static_cast<std::uint64_t>(kernel::real_time_offset().count());
    bool has_ended_ = false; // the daemon
};

} // namespace

int run_capture(const host_maps &maps, const capture_options &options)
{
    end_by_signals();
    return capture_run{maps, options}.run();
}

} // namespace mrc::ctl
