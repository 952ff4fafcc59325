// SPDX-License-Identifier: Apache-2.0
#include "tools/http/endpoint.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

namespace mrc::tools::http
{

using boost::asio::ip::tcp;

std::expected<tcp::endpoint, std::string> parse_endpoint(const std::string &text)
{
    const std::size_t colon = text.rfind(':');
    std::string_view address = colon == std::string::npos ? "127.0.0.1" : std::string_view{text}.substr(0, colon);
    const std::string_view port = std::string_view{text}.substr(colon == std::string::npos ? 0 : colon + 1);
    const bool in_brackets = address.starts_with('[') && address.ends_with(']');
    if (in_brackets)
        address = address.substr(1, address.size() - 2);
    std::uint16_t number = 0;
    const auto [end, port_error] = std::from_chars(port.data(), port.data() + port.size(), number);
    boost::system::error_code address_error;
    const auto parsed = boost::asio::ip::make_address(std::string{address}, address_error);
    if (port.empty() || port_error != std::errc{} || end != port.data() + port.size() || address_error ||
        parsed.is_v6() != in_brackets)
        return std::unexpected{fmt::format("'{}' is no address to listen at; allowed: PORT, IPv4:PORT or [IPv6]:PORT, "
                                           "such as 9101 or [::1]:9101; port 0 to 65535",
                                           text)};
    return tcp::endpoint{parsed, number};
}

std::string to_text(const tcp::endpoint &at)
{
    const std::string address = at.address().to_string();
    return fmt::format("{}:{}", at.address().is_v6() ? fmt::format("[{}]", address) : address, at.port());
}

} // namespace mrc::tools::http
