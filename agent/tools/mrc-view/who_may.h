// SPDX-License-Identifier: Apache-2.0
// Which requests are answered at all, and which may change something. A browser shows pages of others, too: what these
// may have it send must not be taken for the user's will.
#pragma once

#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "tools/http/server.h"

namespace mrc::view
{

// 128 bits from the kernel, in hexadecimal digits.
[[nodiscard]] std::string make_token();

// Why a request is refused: it asks a server on the loopback by another name than the loopback's, as names of others
// that resolve to it (DNS rebinding). nullopt: it is not.
[[nodiscard]] std::optional<std::string> host_refusal(const tools::http::request &asked,
                                                      const boost::asio::ip::tcp::endpoint &listening);

// Why a request may change nothing: it is not from the loopback, not by its name, from another origin's page, or
// without the token that only the own page has.
[[nodiscard]] std::optional<std::string>
order_refusal(const tools::http::request &asked, const boost::asio::ip::tcp::endpoint &from, const std::string &token);

} // namespace mrc::view
