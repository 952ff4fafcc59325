// SPDX-License-Identifier: Apache-2.0
#include "service/config/config_kinds.h"

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

constexpr unsigned mapped_bits = 96; // in front of an IPv4 address in an mrc_ip

// Neither "this network" nor the host itself, and below the multicast and reserved blocks.
bool is_unicast_ipv4(const mrc_ip &address)
{
    const auto first = address.bytes[mapped_bits / 8];
    return first != 0 && first != 127 && first < 224;
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

static bool is_name_character(char character)
{
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' || character == '-' ||
           character == '.';
}

bool instance_name::read(const file_value &value, std::string &to)
{
    constexpr std::size_t longest = 64;
    const auto *text = text_of(value);
    if (text == nullptr || text->empty() || text->size() > longest || text->front() == '.' || text->front() == '-' ||
        !std::ranges::all_of(*text, is_name_character))
        return false;
    to = *text;
    return true;
}

bool account_name::read(const file_value &value, std::string &to)
{
    constexpr std::size_t longest = 32;
    const auto *text = text_of(value);
    if (text == nullptr || text->empty() || text->size() > longest || text->front() == '-' ||
        !std::ranges::all_of(*text, is_name_character))
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

std::string ipv4_prefix::allowed() const
{
    return fmt::format("a unicast IPv4 prefix of length {} to {}", shortest, longest);
}

bool ipv4_prefix::read(const file_value &value, ip_prefix &to) const
{
    const auto *text = text_of(value);
    if (text == nullptr || text->find(':') != std::string::npos)
        return false;
    const auto prefix = parse_prefix(*text);
    if (!prefix || prefix->length < mapped_bits + shortest || prefix->length > mapped_bits + longest ||
        !is_unicast_ipv4(prefix->address))
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

bool real::read(const file_value &value, float &to) const
{
    const auto *whole_number = std::get_if<std::int64_t>(&value);
    const auto *fraction = std::get_if<double>(&value);
    if (whole_number == nullptr && fraction == nullptr)
        return false;
    const double number = fraction != nullptr ? *fraction : static_cast<double>(*whole_number);
    if (!(number >= min && number <= max)) // not a number: neither
        return false;
    to = static_cast<float>(number);
    return true;
}

bool numbers::read(const file_value &value, number_list &to) const
{
    const auto *list = std::get_if<number_list>(&value);
    if (list == nullptr ||
        !std::ranges::all_of(*list, [&](std::int64_t number) { return number >= min && number <= max; }))
        return false;
    to = *list;
    return true;
}

std::string numbers::write(const number_list &from)
{
    return fmt::format("[{}]", fmt::join(from, ", "));
}

bool number_rows::read(const file_value &value, std::vector<number_list> &to) const
{
    if (const auto *list = std::get_if<number_list>(&value); list != nullptr && list->empty()) {
        to.clear();
        return true;
    }
    const auto *rows = std::get_if<std::vector<number_list>>(&value);
    const auto fits = [&](const number_list &row) {
        return row.size() == width &&
               std::ranges::all_of(row, [](std::int64_t number) { return number >= 0 && number <= UINT32_MAX; });
    };
    if (rows == nullptr || !std::ranges::all_of(*rows, fits))
        return false;
    to = *rows;
    return true;
}

std::string number_rows::write(const std::vector<number_list> &from)
{
    std::string text;
    for (const number_list &row : from)
        text += (text.empty() ? "" : ", ") + numbers::write(row);
    return "[" + text + "]";
}

} // namespace mrc::service::kinds
