// SPDX-License-Identifier: Apache-2.0
// Sends loops, as many as there are at one time by one system call, on a packet socket: they are no packets of the
// worker, and take no place in its rings.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <linux/if_packet.h>
#include <sys/socket.h>

#include "kernel/host_tables.h"
#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"
#include "protocol/types.h"
#include "service/fabric_map/loop_frame.h"
#include "service/fabric_map/loop_ways.h"

namespace mrc::service
{

class loop_sender
{
public:
    struct setup {
        std::span<const loop_way> ways;
        const kernel::host_tables &tables; // borrowed: where ports and their neighbours are
        std::uint64_t cookie = 0;
        std::uint8_t dscp = MRC_DSCP_CONTROL;
    };
    // Needs CAP_NET_RAW. Throws startup_error.
    explicit loop_sender(const setup &how);

    // Its loops go another way from now on.
    void redirect(std::uint32_t way, const mrc_ip &carrier)
    {
        std::memcpy(&frames_[way].outer.ip6_dst, &carrier, sizeof(carrier));
    }

    struct departure {
        std::uint32_t way = 0;
        std::uint32_t number = 0;
    };
    // sent(departure) for those that the kernel has taken.
    template <typename Sent>
    void send(std::span<const departure> loops, protocol::instant now, Sent sent)
    {
        prepare(loops, now);
        for (std::size_t first = 0; first < loops.size();) {
            const int taken = ::sendmmsg(socket_.get(), messages_.data() + first,
                                         static_cast<unsigned>(loops.size() - first), MSG_DONTWAIT);
            const std::size_t end = first + (taken > 0 ? static_cast<std::size_t>(taken) : 0);
            for (; first < end; ++first)
                sent(loops[first]);
            first += taken <= 0 ? 1 : 0; // the kernel refuses this one
        }
    }

private:
    void prepare(std::span<const departure> loops, protocol::instant now);

    const kernel::host_tables &tables_;
    kernel::unique_fd socket_;
    std::vector<std::uint32_t> planes_; // by way
    std::vector<loop_frame> frames_;    // by way
    // Of the call.
    std::vector<sockaddr_ll> addresses_;
    std::vector<iovec> parts_;
    std::vector<mmsghdr> messages_;
};

} // namespace mrc::service
