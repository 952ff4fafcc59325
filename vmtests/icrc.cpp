// SPDX-License-Identifier: Apache-2.0
// mrc-icrc: is the ICRC at the end of packets what we compute? For packets that another implementation has sent.
// Reads IP packets in hexadecimal, one in a line; exit status 0 when all are right, 1 when one is not, 2 when one
// cannot be read.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "codec/icrc.h"

namespace
{

constexpr std::size_t icrc_bytes = 4;

std::optional<std::vector<std::byte>> bytes_of(std::span<const char> line)
{
    if (line.size() % 2 != 0)
        return std::nullopt;
    std::vector<std::byte> bytes(line.size() / 2);
    for (std::byte &each : bytes) {
        std::uint8_t value = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + 2, value, 16);
        if (error != std::errc{} || end != line.data() + 2)
            return std::nullopt;
        each = std::byte{value};
        line = line.subspan(2);
    }
    return bytes;
}

// As it stands at the end of a packet: little-endian.
std::uint32_t found_in(std::span<const std::byte> packet)
{
    std::uint32_t value = 0;
    for (std::size_t n = 0; n < icrc_bytes; ++n)
        value |= std::to_integer<std::uint32_t>(packet[packet.size() - icrc_bytes + n]) << 8 * n;
    return value;
}

} // namespace

int main()
{
    unsigned line_number = 0;
    unsigned wrong = 0;
    for (std::string line; std::getline(std::cin, line);) {
        ++line_number;
        const auto packet = bytes_of(line);
        if (!packet || packet->size() < icrc_bytes) {
            fmt::print(stderr, "mrc-icrc: line {} is no packet in hexadecimal of at least {} bytes\n", line_number,
                       icrc_bytes);
            return 2;
        }
        const std::uint32_t ours = mrc::codec::icrc(std::span{*packet}.first(packet->size() - icrc_bytes));
        if (ours == found_in(*packet))
            continue;
        ++wrong;
        fmt::print("line {}: ICRC {:08x}, computed {:08x}\n", line_number, found_in(*packet), ours);
    }
    fmt::print("{} packets, {} with another ICRC\n", line_number, wrong);
    return wrong == 0 ? 0 : 1;
}
