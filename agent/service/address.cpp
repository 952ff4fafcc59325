// SPDX-License-Identifier: Apache-2.0
#include "service/address.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace mrc::service
{

namespace
{

constexpr std::array<std::uint8_t, 12> mapped_ipv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

template <class T>
std::optional<T> parse_number(std::string_view text, int base)
{
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

bool has_bits_behind(const mrc_ip &address, unsigned length)
{
    for (unsigned bit = length; bit < 128; bit++)
        if (mrc_bit_get(address.bytes, bit) != 0)
            return true;
    return false;
}

} // namespace

std::optional<mrc_ip> parse_ip(std::string_view text)
{
    const std::string terminated{text};
    mrc_ip address{};
    if (inet_pton(AF_INET6, terminated.c_str(), address.bytes) == 1)
        return address;
    if (inet_pton(AF_INET, terminated.c_str(), address.bytes + mapped_ipv4.size()) != 1)
        return std::nullopt;
    std::ranges::copy(mapped_ipv4, std::begin(address.bytes));
    return address;
}

std::optional<ip_prefix> parse_prefix(std::string_view text)
{
    const auto slash = text.find('/');
    if (slash == std::string_view::npos)
        return std::nullopt;
    const auto address = parse_ip(text.substr(0, slash));
    const auto length = parse_number<std::uint8_t>(text.substr(slash + 1), 10);
    if (!address || !length)
        return std::nullopt;
    const unsigned offset = is_ipv4(*address) ? 96 : 0;
    if (*length + offset > 128 || has_bits_behind(*address, *length + offset))
        return std::nullopt;
    return ip_prefix{.address = *address, .length = static_cast<std::uint8_t>(*length + offset)};
}

std::optional<mac_address> parse_mac(std::string_view text)
{
    constexpr std::size_t stride = 3; // two digits and a colon
    mac_address mac{};
    if (text.size() != mac.size() * stride - 1)
        return std::nullopt;
    for (std::size_t i = 0; i < mac.size(); i++) {
        const auto byte = parse_number<std::uint8_t>(text.substr(i * stride, 2), 16);
        if (!byte || (i > 0 && text[i * stride - 1] != ':'))
            return std::nullopt;
        mac.at(i) = *byte;
    }
    return mac;
}

std::string to_text(const mrc_ip &address)
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (is_ipv4(address))
        inet_ntop(AF_INET, address.bytes + mapped_ipv4.size(), text.data(), text.size());
    else
        inet_ntop(AF_INET6, address.bytes, text.data(), text.size());
    return text.data();
}

void write_text(char (&to)[MRC_ADDRESS_TEXT], const mrc_ip &address)
{
    std::ranges::fill(to, '\0');
    if (!is_same(address, mrc_ip{}))
        to_text(address).copy(to, MRC_ADDRESS_TEXT - 1);
}

std::string to_text(const ip_prefix &prefix)
{
    return fmt::format("{}/{}", to_text(prefix.address), prefix.length - (is_ipv4(prefix.address) ? 96 : 0));
}

std::string to_text(const mac_address &mac)
{
    return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

bool is_ipv4(const mrc_ip &address)
{
    return std::equal(mapped_ipv4.begin(), mapped_ipv4.end(), std::begin(address.bytes));
}

bool is_same(const mrc_ip &a, const mrc_ip &b)
{
    return std::equal(std::begin(a.bytes), std::end(a.bytes), std::begin(b.bytes));
}

} // namespace mrc::service
