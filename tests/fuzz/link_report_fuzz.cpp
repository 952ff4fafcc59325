// SPDX-License-Identifier: Apache-2.0
// Any datagrams to the fabric map, as reports of known hosts. The input is a row of records: the host, a length (16
// bits, low byte first) and that many bytes.
//   host bit 7: the bytes are the datagram as it is; otherwise magic and version are made right, and the counts are as
//   many as the bytes have room for
//
// Holds for every input: nothing outside the datagram is read (AddressSanitizer); an accepted report encodes to the
// bytes that it came as; what reports add up to is sorted, each place once, and named with who finds it so; no more is
// named than was found.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "service/fabric_map/fault_board.h"
#include "service/fabric_map/report_exchange.h"

namespace
{

using namespace mrc::service;
using namespace std::chrono_literals;

constexpr std::uint32_t leaves = 2;
constexpr std::uint32_t hosts = 4;

void require(bool condition, const char *what)
{
    if (condition)
        return;
    std::fputs("link_report_fuzz: ", stderr);
    std::fputs(what, stderr);
    std::fputs("\n", stderr);
    std::abort();
}

void make_right(std::vector<std::byte> &datagram)
{
    constexpr std::size_t head = 16;
    constexpr std::size_t plane = 36;
    constexpr std::size_t fault = 20;
    datagram.resize(std::max(datagram.size(), head));
    std::memcpy(datagram.data(), "MRCF\x01", 5);
    const std::size_t rest = datagram.size() - head;
    const std::size_t planes = std::min<std::size_t>(std::to_integer<unsigned>(datagram[5]) % 9, rest / plane);
    const std::size_t faults = std::min((rest - planes * plane) / fault, most_reported_faults);
    datagram.resize(head + planes * plane + faults * fault);
    datagram[5] = static_cast<std::byte>(planes);
    datagram[6] = {};
    datagram[7] = static_cast<std::byte>(faults);
}

host_place place(std::uint32_t number)
{
    return {.leaf = number % leaves, .downlink = number / leaves % (hosts / leaves)};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    report_exchange exchange;
    fault_board board;
    std::vector<host_place> known;
    for (std::uint32_t host = 0; host < hosts; ++host)
        known.push_back(place(host));
    exchange.know(known);
    mrc::protocol::instant now{1h};
    std::span<const std::uint8_t> rest{data, size};
    while (rest.size() >= 3) {
        const std::uint8_t from = rest[0];
        const std::size_t length = std::min(std::size_t{rest[1]} + std::size_t{rest[2]} * 256, rest.size() - 3);
        std::vector<std::byte> datagram(length);
        if (length != 0)
            std::memcpy(datagram.data(), rest.data() + 3, length);
        rest = rest.subspan(3 + length);
        if ((from & 0x80U) == 0)
            make_right(datagram);
        auto report = decode_link_report(datagram);
        now += 200ms;
        if (!report)
            continue;
        require(encode(*report) == datagram, "a report that encodes to other bytes");
        exchange.take(place(from), *std::move(report), now);
        require(exchange.reports().size() <= hosts, "more hosts than are known");
        const std::vector<fabric_fault> found = merge_reports(exchange.reports());
        require(std::ranges::adjacent_find(found, std::ranges::greater_equal{}, &fabric_fault::place) == found.end(),
                "a fault twice, or out of order");
        for (const fabric_fault &fault : found)
            require(fault.hosts > 0 && fault.hosts <= hosts && fault.witnesses < hosts && fault.lost <= fault.loops,
                    "a fault that nobody finds");
        (void)board.take(found, false, now);
    }
    return 0;
}
