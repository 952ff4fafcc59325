// SPDX-License-Identifier: Apache-2.0
// The program's side of what its XDP programs place in its region, and note of each port.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernel/mapped_array.h"
#include "raw/packet.h"

struct bpf_map;

namespace mrc::raw
{

class placed_memory
{
public:
    placed_memory() = default;
    // Of a program that is loaded; the maps need not outlive this. Throws kernel::startup_error.
    placed_memory(const bpf_map *region, const bpf_map *marks, const bpf_map *session, std::size_t ports);

    // From now on packets of this run are taken; after so many of a port the program tells how far it is.
    void begin(std::uint32_t run, std::uint64_t report_after);
    // What was placed of the run, added to `totals`.
    void add_to(run_totals &totals) const;
    // Packets that were refused, of any run.
    [[nodiscard]] std::uint64_t refused() const;

    struct message {
        std::uint64_t number = 0;
        std::uint8_t path = 0;
        std::span<const std::byte> payload;
    };
    // A ping or pong that was placed since the last call, whose payload is there; at most one is under way.
    [[nodiscard]] std::optional<message> look();

private:
    [[nodiscard]] const raw_mark *mark_of_run(std::size_t port) const;

    kernel::mapped_array<raw_region> region_;
    kernel::mapped_array<raw_mark> marks_;
    kernel::mapped_array<raw_session> session_;
    std::array<std::uint64_t, MRC_MAX_PORTS> seen_{}; // `latest`, by port
    std::size_t ports_ = 0;
};

} // namespace mrc::raw
