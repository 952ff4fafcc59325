// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 server for tools: one request a connection, all of it bounded. Not for the open network: it knows
// neither TLS nor users.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

namespace mrc::tools::http
{

using request = boost::beast::http::request<boost::beast::http::string_body>;
using response = boost::beast::http::response<boost::beast::http::string_body>;
using boost::beast::http::status;

inline constexpr const char *text_type = "text/plain; charset=utf-8";

struct server_limits {
    std::size_t header_bytes = 8192; // of a request
    std::uint64_t body_bytes = 0;
    std::chrono::seconds exchange{5}; // from the connection to the end of the answer, but for the time to make it
    int connections = 8;              // at a time; others wait in the kernel
};

// Makes the answer; what it throws is answered with status 503 and the exception's text.
using request_handler =
    std::function<boost::asio::awaitable<response>(request asked, boost::asio::ip::tcp::endpoint from)>;

[[nodiscard]] response reply(status as, const char *type, std::string body);
// One line.
[[nodiscard]] response refusal(status as, const std::string &why);

// Serves from now on, while `context` runs; `limits` and `handler` are kept. Returns where it listens. Throws
// std::runtime_error when it cannot.
boost::asio::ip::tcp::endpoint serve(boost::asio::io_context &context, const boost::asio::ip::tcp::endpoint &at,
                                     const server_limits &limits, request_handler handler);

// Until SIGINT or SIGTERM. Throws what a coroutine of `context` throws.
void run_until_signalled(boost::asio::io_context &context);

} // namespace mrc::tools::http
