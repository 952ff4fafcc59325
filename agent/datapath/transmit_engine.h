// SPDX-License-Identifier: Apache-2.0
// How finished packets leave: the small interface behind which the XDP transmit engine and AF_XDP transmit stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace mrc::datapath
{

// What the headers in front of one packet need; everything else stands in the rows of `paths`, `ports`, `next_hops`.
struct departure {
    std::uint32_t path = 0;      // row of `paths`
    std::uint16_t host_usid = 0; // of the destination on its T0
    std::uint32_t flow_label = 0;
    std::uint8_t tclass = 0;
    std::uint8_t next_header = 41; // 41: IPv6, 4: IPv4
    std::uint16_t bytes = 0;       // inner packet, IP header to ICRC
};

struct transmit_counters {
    std::uint64_t sent = 0;    // handed to the port
    std::uint64_t refused = 0; // consumed, but not sent: bad path, port down or stalled

    transmit_counters &operator+=(const transmit_counters &other)
    {
        sent += other.sent;
        refused += other.refused;
        return *this;
    }
};

// One worker owns an engine. Use: while ready(): fill reserve(), commit(); then flush() once per burst.
class transmit_engine
{
public:
    transmit_engine() = default;
    transmit_engine(const transmit_engine &) = delete;
    transmit_engine &operator=(const transmit_engine &) = delete;
    virtual ~transmit_engine() = default;

    [[nodiscard]] virtual std::string_view name() const = 0;
    // Room for at least one more packet on every port that sends.
    [[nodiscard]] virtual bool ready() = 0;
    // Where the next inner packet is to be written, which leaves by this row of `paths`; stays valid until commit().
    [[nodiscard]] virtual std::span<std::byte> reserve(std::uint32_t path) = 0;
    virtual void commit(const departure &packet) = 0;
    // Sends what was committed. What could not leave yet stays queued and goes with the next call.
    virtual void flush() = 0;
    // Packets committed and not yet handed to a port.
    [[nodiscard]] virtual std::size_t queued() const = 0;
    [[nodiscard]] virtual transmit_counters counters() const = 0;
};

} // namespace mrc::datapath
