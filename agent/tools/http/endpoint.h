// SPDX-License-Identifier: Apache-2.0
// Where a tool's HTTP server listens, as command lines have it.
#pragma once

#include <expected>
#include <string>

#include <boost/asio/ip/tcp.hpp>

namespace mrc::tools::http
{

// "[ADDR:]PORT", an IPv6 address in brackets; loopback without an address. Port 0: any that is free. The error says
// what is allowed.
[[nodiscard]] std::expected<boost::asio::ip::tcp::endpoint, std::string> parse_endpoint(const std::string &text);

// "127.0.0.1:9101", "[::1]:9101": what stands in a URL.
[[nodiscard]] std::string to_text(const boost::asio::ip::tcp::endpoint &at);

} // namespace mrc::tools::http
