// SPDX-License-Identifier: Apache-2.0
// Which packets a capture wants, as the command line says it and as the row in `capture_ring` has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "mrc/abi/maps.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

struct psn_range {
    std::uint32_t first = 0;
    std::uint32_t count = 0; // 0: any PSN
};
// "4096" or "4096-8191", decimal or 0x hexadecimal; the last may be below the first: PSNs begin anew behind 0xffffff.
// What is wrong otherwise.
[[nodiscard]] std::expected<psn_range, std::string> parse_psns(const std::string &text);

// "1/100": 100.
[[nodiscard]] std::expected<std::uint32_t, std::string> parse_sample(const std::string &text);

struct capture_filter {
    std::optional<std::uint32_t> qpn = {}; // of this host
    psn_range psns = {};
    std::optional<std::uint32_t> plane = {};
    std::uint32_t snap_bytes = MRC_CAPTURE_SNAP_MAX;
    std::uint32_t sample = 1;
    std::uint32_t rate = 0; // packets a second; 0: as many as come
};

// The fields of the row that are settings; the others are zero. `peer_qpn` is that of the filter's queue pair.
[[nodiscard]] mrc_capture_ring settings_of(const capture_filter &filter, std::uint32_t peer_qpn);

// Two hosts may have queue pairs of one number, and what is sent says only where it goes to: whether this copy goes to
// the host that the queue pair is connected to. A copy too short to tell does.
class destination_filter
{
public:
    destination_filter() = default; // lets all pass
    // Throws ctl_error where there is no such queue pair.
    destination_filter(const host_maps &maps, std::uint32_t qpn);

    [[nodiscard]] bool passes(const host_maps &maps, std::span<const std::byte> packet) const;
    [[nodiscard]] std::uint32_t peer_qpn() const { return peer_qpn_; }

private:
    std::uint32_t sender_ = 0; // of mrc_peer_row; 0: whoever
    std::uint32_t peer_qpn_ = 0;
};

// Of a frame's own IP header, behind the outer one if there is one; nothing where the bytes end before it.
[[nodiscard]] std::optional<mrc_ip> inner_destination(std::span<const std::byte> packet);

} // namespace mrc::ctl
