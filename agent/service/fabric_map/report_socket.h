// SPDX-License-Identifier: Apache-2.0
// Carries reports between daemons: sent on a packet socket, by a path that the sender chooses, received by the kernel
// as any UDP to this host's common address. Their source port is one that only privileged programs of the sending host
// can bind, so that what comes from it is a daemon's.
//
//   Ethernet | outer IPv6 block:T0:T1:T0:host | IPv6, common addresses | UDP 791 → 61734 | report
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/host_tables.h"
#include "kernel/unique_fd.h"
#include "service/fabric_map/link_report.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

inline constexpr std::uint16_t report_source_port = 791;
inline constexpr std::uint16_t report_port = 61734;

class report_socket
{
public:
    // Needs CAP_NET_RAW, and that this host has its address (mrcnet0). Throws startup_error where it may not send;
    // where it cannot receive, problem() says why, and fd() is -1.
    report_socket(const kernel::host_tables &tables, const mrc_ip &own, std::uint8_t dscp);

    struct way {
        protocol::plane_index plane;
        mrc_ip carrier{};
    };
    // What is lost on the way, or refused by the kernel, is lost: the next report says the same.
    void send(const way &by, const mrc_ip &to, std::span<const std::byte> report) const;

    // Readable when something has arrived.
    [[nodiscard]] int fd() const { return receiver_.get(); }
    [[nodiscard]] int problem() const { return problem_; } // errno; 0: none
    // visit(sender's address, bytes) for what has arrived, at most `most` of them; from other ports it is dropped.
    template <typename Visit>
    void receive(unsigned most, Visit visit) const
    {
        std::array<std::byte, link_report_bytes + 1> bytes; // one more than fits shows
        for (; most > 0; --most)
            if (mrc_ip from{}; const auto length = receive_one(bytes, from))
                visit(from, std::span{bytes}.first(*length));
            else
                return;
    }

private:
    // 0 bytes: it is nobody's report; none: nothing more has arrived.
    [[nodiscard]] std::optional<std::size_t> receive_one(std::span<std::byte> to, mrc_ip &from) const;

    const kernel::host_tables &tables_;
    mrc_ip own_;
    std::uint8_t dscp_;
    kernel::unique_fd sender_;
    kernel::unique_fd receiver_;
    int problem_ = 0;
};

} // namespace mrc::service
