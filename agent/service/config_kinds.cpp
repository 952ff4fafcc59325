// SPDX-License-Identifier: Apache-2.0
#include <service/config_kinds.h>

#include <algorithm>
#include <cctype>

#include <net/if.h>

namespace mrc::service::kinds
{

namespace
{

bool is_printable(char character)
{
    return std::isprint(static_cast<unsigned char>(character)) != 0;
}

bool is_unicast(const mrc_ip &address)
{
    const bool is_multicast = address.bytes[0] == 0xff;
    return !is_multicast && !is_same(address, mrc_ip{});
}

bool is_unicast(const mac_address &mac)
{
    const bool is_group = (mac[0] & 1u) != 0;
    return !is_group && mac != mac_address{};
}

// IPv4 is no answer where IPv6 is asked for, although mrc_ip holds both.
std::optional<mrc_ip> parse_ipv6(std::string_view text)
{
    return text.find(':') == std::string_view::npos ? std::nullopt : parse_ip(text);
}

} // namespace

std::string quoted(std::string_view text)
{
    std::string out = "\"";
    for (const char character : text) {
        if (character == '"' || character == '\\')
            out += '\\';
        out += character;
    }
    return out + '"';
}

bool flag::read(const file_value &value, bool &to)
{
    const auto *given = std::get_if<bool>(&value);
    if (given == nullptr)
        return false;
    to = *given;
    return true;
}

bool instance_name::read(const file_value &value, std::string &to)
{
    constexpr std::size_t longest = 64;
    const auto *text = text_of(value);
    const auto is_allowed = [](char character) {
        return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' || character == '-' ||
               character == '.';
    };
    if (text == nullptr || text->empty() || text->size() > longest || text->front() == '.' || text->front() == '-' ||
        !std::ranges::all_of(*text, is_allowed))
        return false;
    to = *text;
    return true;
}

bool absolute_path::read(const file_value &value, std::string &to) const
{
    const auto *text = text_of(value);
    if (text == nullptr || !text->starts_with('/') || text->size() > longest ||
        !std::ranges::all_of(*text, is_printable))
        return false;
    to = *text;
    return true;
}

bool device_name::read(const file_value &value, std::string &to)
{
    const auto *text = text_of(value);
    const auto is_allowed = [](char character) {
        return is_printable(character) && character != ' ' && character != '/' && character != ':';
    };
    if (text == nullptr || text->empty() || text->size() >= IFNAMSIZ || *text == "." || *text == ".." ||
        !std::ranges::all_of(*text, is_allowed))
        return false;
    to = *text;
    return true;
}

bool ipv6_address::read(const file_value &value, mrc_ip &to)
{
    const auto *text = text_of(value);
    const auto address = text == nullptr ? std::nullopt : parse_ipv6(*text);
    if (!address)
        return false;
    to = *address;
    return true;
}

std::string ipv6_prefix::allowed() const
{
    return shortest == longest ? fmt::format("an IPv6 prefix of length {}", shortest)
                               : fmt::format("an IPv6 prefix of length {} to {}", shortest, longest);
}

bool ipv6_prefix::read(const file_value &value, ip_prefix &to) const
{
    const auto *text = text_of(value);
    if (text == nullptr || text->find(':') == std::string::npos)
        return false;
    const auto prefix = parse_prefix(*text);
    if (!prefix || prefix->length < shortest || prefix->length > longest)
        return false;
    to = *prefix;
    return true;
}

bool gateway::read(const file_value &value, gateway_option &to)
{
    const auto *text = text_of(value);
    if (text == nullptr)
        return false;
    if (*text == "auto") {
        to = automatic_gateway{};
        return true;
    }
    if (const auto mac = parse_mac(*text)) {
        to = *mac;
        return is_unicast(*mac);
    }
    const auto address = parse_ipv6(*text);
    if (!address || !is_unicast(*address))
        return false;
    to = *address;
    return true;
}

std::string gateway::write(const gateway_option &from)
{
    if (const auto *address = std::get_if<mrc_ip>(&from))
        return quoted(to_text(*address));
    if (const auto *mac = std::get_if<mac_address>(&from))
        return quoted(to_text(*mac));
    return quoted("auto");
}

} // namespace mrc::service::kinds
