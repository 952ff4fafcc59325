// SPDX-License-Identifier: Apache-2.0
#include "service/config/kinds.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "session/host_names.h"

namespace mrc::service::kinds
{

namespace
{

bool is_name_character(char character)
{
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' || character == '-' ||
           character == '.';
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

bool instance_name::read(const options::value &value, std::string &to)
{
    constexpr std::size_t longest = 64;
    const auto *text = value.text();
    if (text == nullptr || text->empty() || text->size() > longest || text->front() == '.' || text->front() == '-' ||
        !std::ranges::all_of(*text, is_name_character))
        return false;
    to = *text;
    return true;
}

bool account_name::read(const options::value &value, std::string &to)
{
    constexpr std::size_t longest = 32;
    const auto *text = value.text();
    if (text == nullptr || text->empty() || text->size() > longest || text->front() == '-' ||
        !std::ranges::all_of(*text, is_name_character))
        return false;
    to = *text;
    return true;
}

bool host_name::read(const options::value &value, std::string &to)
{
    const auto *text = value.text();
    if (text == nullptr || !session::is_host_name(*text))
        return false;
    to = *text;
    return true;
}

bool ipv6_address::read(const options::value &value, mrc_ip &to)
{
    const auto *text = value.text();
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

bool ipv6_prefix::read(const options::value &value, ip_prefix &to) const
{
    const auto *text = value.text();
    if (text == nullptr || text->find(':') == std::string::npos)
        return false;
    const auto prefix = parse_prefix(*text);
    if (!prefix || prefix->length < shortest || prefix->length > longest)
        return false;
    to = *prefix;
    return true;
}

bool locator_block::read(const options::value &value, ip_prefix &to)
{
    constexpr unsigned group_bits = 16;
    return ipv6_prefix{group_bits, 8 * MRC_USID_LONGEST_BLOCK}.read(value, to) && to.length % group_bits == 0;
}

bool usid_length::read(const options::value &value, std::uint32_t &to)
{
    constexpr std::int64_t only = std::int64_t{8} * MRC_USID_BYTES;
    return options::whole{only, only}.read(value, to);
}

bool usid_pattern_text::read(const options::value &value, usid_pattern &to)
{
    const auto *text = value.text();
    const auto pattern = text == nullptr ? std::nullopt : parse_usid_pattern(*text);
    to = pattern.value_or(to);
    return pattern.has_value();
}

std::string ipv4_prefix::allowed() const
{
    return fmt::format("a unicast IPv4 prefix of length {} to {}", shortest, longest);
}

bool ipv4_prefix::read(const options::value &value, ip_prefix &to) const
{
    const auto *text = value.text();
    if (text == nullptr || text->find(':') != std::string::npos)
        return false;
    const auto prefix = parse_prefix(*text);
    if (!prefix || prefix->length < mapped_bits + shortest || prefix->length > mapped_bits + longest ||
        !is_unicast_ipv4(prefix->address))
        return false;
    to = *prefix;
    return true;
}

bool plane_address::read(const options::value &value, mrc_ip &to)
{
    constexpr std::uint8_t link_local_second = 0x80; // fe80::/10
    const auto *text = value.text();
    const auto address = text == nullptr ? std::nullopt : parse_ip(*text);
    if (!address)
        return false;
    const bool is_link_local = address->bytes[0] == 0xfe && (address->bytes[1] & 0xc0U) == link_local_second;
    if (is_ipv4(*address) ? !is_unicast_ipv4(*address) : is_link_local || !is_unicast(*address))
        return false;
    to = *address;
    return true;
}

bool gateway::read(const options::value &value, gateway_option &to)
{
    const auto *text = value.text();
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
        return options::toml_string(to_text(*address));
    if (const auto *mac = std::get_if<mac_address>(&from))
        return options::toml_string(to_text(*mac));
    return options::toml_string("auto");
}

bool affinity::read(const options::value &value, affinity_option &to)
{
    const auto *text = value.text();
    if (text == nullptr)
        return false;
    if (*text == "auto")
        to = cpus_of_ports{};
    else if (*text == "none")
        to = any_cpu{};
    else if (auto cpus = kernel::parse_cpu_list(*text); cpus && !cpus->empty())
        to = std::move(*cpus);
    else
        return false;
    return true;
}

std::string affinity::write(const affinity_option &from)
{
    if (const auto *cpus = std::get_if<kernel::cpu_list>(&from))
        return options::toml_string(kernel::cpu_list_text(*cpus));
    return options::toml_string(std::holds_alternative<any_cpu>(from) ? "none" : "auto");
}

} // namespace mrc::service::kinds
