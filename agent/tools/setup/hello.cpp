// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/hello.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "codec/byte_order.h"

namespace mrc::setup
{

namespace
{

constexpr std::array magic{std::byte{'M'}, std::byte{'R'}, std::byte{'C'}, std::byte{'H'}};
constexpr std::uint8_t version = 1;

namespace at
{
constexpr std::size_t version = 4;
constexpr std::size_t port = 5;
constexpr std::size_t ports = 6;
constexpr std::size_t name_bytes = 7;
constexpr std::size_t host = 8;
constexpr std::size_t run = 16;
constexpr std::size_t plan = 24;
constexpr std::size_t links = 32;
constexpr std::size_t name = 34;
} // namespace at

constexpr std::size_t link_bytes = 10;
constexpr std::size_t link_port = 8;
constexpr std::size_t link_by = 9;

bool is_hello_name(std::string_view name)
{
    return session::is_host_label(name) && session::is_host_name(name);
}

std::uint8_t number(std::span<const std::byte> from, std::size_t offset)
{
    return std::to_integer<std::uint8_t>(from[offset]);
}

bool is_allowed(const hello &decoded)
{
    const auto is_port = [](std::uint8_t port, std::uint8_t ports) { return port < ports; };
    return decoded.host != 0 && decoded.ports <= MRC_MAX_PORTS && is_port(decoded.port, decoded.ports) &&
           is_hello_name(decoded.name) &&
           std::ranges::all_of(decoded.heard,
                               [&](const heard_link &link) {
                                   return link.from.host != 0 && is_port(link.from.port, MRC_MAX_PORTS) &&
                                          is_port(link.by, decoded.ports);
                               }) &&
           std::ranges::adjacent_find(decoded.heard, std::greater_equal{}) == decoded.heard.end();
}

} // namespace

std::string hello_name(const std::string &host_name)
{
    std::string name = host_name.substr(0, host_name.find('.')).substr(0, session::most_label_bytes);
    std::ranges::replace_if(name, [](char letter) { return !session::is_host_label({&letter, 1}); }, '-');
    name.erase(0, name.find_first_not_of('-'));
    name.erase(name.find_last_not_of('-') + 1);
    return is_hello_name(name) ? name : "host";
}

std::vector<std::byte> encode_hello(const hello &from)
{
    const std::size_t links = std::min(from.heard.size(), most_links);
    std::vector<std::byte> datagram(at::name + from.name.size() + links * link_bytes);
    std::ranges::copy(magic, datagram.begin());
    datagram[at::version] = std::byte{version};
    datagram[at::port] = std::byte{from.port};
    datagram[at::ports] = std::byte{from.ports};
    datagram[at::name_bytes] = static_cast<std::byte>(from.name.size());
    codec::store_be(&datagram[at::host], from.host);
    codec::store_be(&datagram[at::run], from.run);
    codec::store_be(&datagram[at::plan], from.plan);
    codec::store_be(&datagram[at::links], static_cast<std::uint16_t>(links));
    std::memcpy(&datagram[at::name], from.name.data(), from.name.size());
    std::size_t offset = at::name + from.name.size();
    for (const heard_link &link : std::span{from.heard}.first(links)) {
        codec::store_be(&datagram[offset], link.from.host);
        datagram[offset + link_port] = std::byte{link.from.port};
        datagram[offset + link_by] = std::byte{link.by};
        offset += link_bytes;
    }
    return datagram;
}

std::optional<hello> decode_hello(std::span<const std::byte> datagram)
{
    if (datagram.size() < at::name || datagram.size() > most_hello_bytes ||
        !std::ranges::equal(datagram.first(magic.size()), magic) || number(datagram, at::version) != version)
        return std::nullopt;
    const std::size_t name_bytes = number(datagram, at::name_bytes);
    const std::size_t links = codec::load_be<std::uint16_t>(&datagram[at::links]);
    if (name_bytes > session::most_label_bytes || links > most_links ||
        datagram.size() != at::name + name_bytes + links * link_bytes)
        return std::nullopt;
    hello decoded{.host = codec::load_be<std::uint64_t>(&datagram[at::host]),
                  .run = codec::load_be<std::uint64_t>(&datagram[at::run]),
                  .plan = codec::load_be<std::uint64_t>(&datagram[at::plan]),
                  .port = number(datagram, at::port),
                  .ports = number(datagram, at::ports),
                  .name = std::string(reinterpret_cast<const char *>(datagram.data()) + at::name, name_bytes),
                  .heard = {}};
    decoded.heard.reserve(links);
    for (auto rest = datagram.subspan(at::name + name_bytes); !rest.empty(); rest = rest.subspan(link_bytes))
        decoded.heard.push_back(
            {.from = {.host = codec::load_be<std::uint64_t>(rest.data()), .port = number(rest, link_port)},
             .by = number(rest, link_by)});
    return is_allowed(decoded) ? std::optional{std::move(decoded)} : std::nullopt;
}

} // namespace mrc::setup
