// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/settings.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <netinet/in.h>

#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

constexpr std::uint32_t ns_per_s = 1'000'000'000;
constexpr std::size_t ethernet_bytes = 14;
constexpr std::size_t ipv4_bytes = 20;
constexpr std::size_t ipv6_bytes = 40;

std::optional<std::uint32_t> number_in(std::string_view text, std::uint32_t most)
{
    const bool hexadecimal = text.starts_with("0x");
    text.remove_prefix(hexadecimal ? 2 : 0);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (error != std::errc{} || end != text.data() + text.size() || value > most)
        return std::nullopt;
    return value;
}

mrc_ip ipv6_at(std::span<const std::byte> packet, std::size_t at)
{
    mrc_ip address{};
    std::ranges::transform(packet.subspan(at, sizeof(address)), std::begin(address.bytes),
                           [](std::byte byte) { return std::to_integer<__u8>(byte); });
    return address;
}

mrc_ip ipv4_at(std::span<const std::byte> packet, std::size_t at)
{
    mrc_ip address{};
    address.bytes[10] = address.bytes[11] = 0xFF;
    std::ranges::transform(packet.subspan(at, 4), std::begin(address.bytes) + 12,
                           [](std::byte byte) { return std::to_integer<__u8>(byte); });
    return address;
}

} // namespace

std::expected<psn_range, std::string> parse_psns(const std::string &text)
{
    const std::size_t dash = text.find('-');
    const auto first = number_in(std::string_view{text}.substr(0, dash), MRC_PSN_MASK);
    const auto last =
        dash == std::string::npos ? first : number_in(std::string_view{text}.substr(dash + 1), MRC_PSN_MASK);
    if (!first || !last)
        return std::unexpected{fmt::format("'{}' is no range of PSNs; allowed: FIRST or FIRST-LAST, such as 4096-8191 "
                                           "or 0xfffff0-0xf, each up to 0xffffff",
                                           text)};
    return psn_range{.first = *first, .count = ((*last - *first) & MRC_PSN_MASK) + 1};
}

std::expected<std::uint32_t, std::string> parse_sample(const std::string &text)
{
    const auto of = text.starts_with("1/") ? number_in(std::string_view{text}.substr(2), ns_per_s) : std::nullopt;
    if (!of || *of == 0)
        return std::unexpected{
            fmt::format("'{}' is no share of the packets; allowed: 1/N, such as 1/100, N up to {}", text, ns_per_s)};
    return *of;
}

mrc_capture_ring settings_of(const capture_filter &filter, std::uint32_t peer_qpn)
{
    mrc_capture_ring row{};
    row.interval_ns = filter.rate == 0 ? 0 : std::max(1U, ns_per_s / filter.rate);
    row.sample = filter.sample;
    row.snap_bytes = filter.snap_bytes;
    row.planes = filter.plane ? 1U << *filter.plane : (1U << MRC_MAX_PORTS) - 1;
    row.qpn = filter.qpn.value_or(0);
    row.peer_qpn = peer_qpn;
    row.psn_first = filter.psns.first;
    row.psn_count = filter.psns.count;
    return row;
}

destination_filter::destination_filter(const host_maps &maps, std::uint32_t qpn)
{
    const mrc_qp_row row = maps.qps()[MRC_QPN_ROW(qpn)];
    if (qpn == 0 || row.qpn != qpn)
        throw ctl_error{fmt::format("no queue pair {}; `mrcctl qp list` names those that exist", qpn)};
    sender_ = row.sender;
    peer_qpn_ = row.peer_qpn;
}

bool destination_filter::passes(const host_maps &maps, std::span<const std::byte> packet) const
{
    if (sender_ == 0)
        return true;
    const auto destination = inner_destination(packet);
    const auto peer = destination ? maps.peer(*destination) : std::nullopt;
    return !destination || (peer && peer->sender == sender_);
}

std::optional<mrc_ip> inner_destination(std::span<const std::byte> packet)
{
    if (packet.size() < ethernet_bytes)
        return std::nullopt;
    bool ipv4 = packet[12] == std::byte{0x08};
    std::size_t at = ethernet_bytes;
    if (!ipv4 && packet.size() >= at + ipv6_bytes &&
        (packet[at + 6] == std::byte{IPPROTO_IPV6} || packet[at + 6] == std::byte{IPPROTO_IPIP})) {
        ipv4 = packet[at + 6] == std::byte{IPPROTO_IPIP};
        at += ipv6_bytes;
    }
    if (packet.size() < at + (ipv4 ? ipv4_bytes : ipv6_bytes))
        return std::nullopt;
    return ipv4 ? ipv4_at(packet, at + 16) : ipv6_at(packet, at + 24);
}

} // namespace mrc::ctl
