// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/metrics_server.h"

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using response = http::response<http::string_body>;
using renderer = std::function<std::string()>;

constexpr std::size_t most_request_bytes = 8192;
constexpr std::chrono::seconds longest_exchange{5};
constexpr std::chrono::milliseconds pause_before_retry{100};
constexpr int most_connections = 8;

constexpr const char *exposition_type = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char *text_type = "text/plain; charset=utf-8";

response reply(http::status status, const char *type, std::string body)
{
    response made{status, 11};
    made.set(http::field::content_type, type);
    made.keep_alive(false);
    made.body() = std::move(body);
    made.prepare_payload();
    return made;
}

response refusal(http::status status, std::string_view why)
{
    return reply(status, text_type, fmt::format("{}\n", why));
}

response refusal_of(const beast::error_code &error)
{
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
        return refusal(http::status::request_header_fields_too_large,
                       fmt::format("a request has at most {} bytes", most_request_bytes));
    return refusal(http::status::bad_request,
                   fmt::format("no request of HTTP/1.1 without a body: {}", error.message()));
}

response answer_to(const http::request<http::empty_body> &request, const renderer &render)
{
    if (request.target() != "/metrics")
        return refusal(http::status::not_found, "allowed: /metrics");
    if (request.method() != http::verb::get) {
        response made = refusal(http::status::method_not_allowed, "allowed: GET");
        made.set(http::field::allow, "GET");
        return made;
    }
    try {
        return reply(http::status::ok, exposition_type, render());
    } catch (const std::exception &error) { // the daemon may come back
        return refusal(http::status::service_unavailable, error.what());
    }
}

// Errors of the connection end it, and are nobody else's business.
asio::awaitable<void> serve_one(tcp::socket socket, const renderer &render)
{
    beast::tcp_stream stream{std::move(socket)};
    stream.expires_after(longest_exchange);
    beast::flat_buffer buffer{most_request_bytes};
    http::request_parser<http::empty_body> parser;
    parser.header_limit(most_request_bytes);
    beast::error_code error;
    co_await http::async_read(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, error));
    if (error && error.category() != http::make_error_code(http::error::end_of_stream).category())
        co_return; // the connection is lost, or takes too long
    const response answer = error ? refusal_of(error) : answer_to(parser.get(), render);
    co_await http::async_write(stream, answer, asio::redirect_error(asio::use_awaitable, error));
    (void)stream.socket().shutdown(tcp::socket::shutdown_send, error);
}

// One connection after the other; there are as many of these as connections at a time.
asio::awaitable<void> take_turns(tcp::acceptor &acceptor, const renderer &render)
{
    while (true) {
        boost::system::error_code error;
        tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (!error)
            co_await serve_one(std::move(socket), render);
        else if (error == asio::error::bad_descriptor || error == asio::error::operation_aborted)
            throw ctl_error{fmt::format("cannot accept connections: {}", error.message())};
        else if (error != asio::error::connection_aborted) { // descriptors or memory are short, for now
            asio::steady_timer pause{acceptor.get_executor(), pause_before_retry};
            co_await pause.async_wait(asio::use_awaitable);
        }
    }
}

tcp::acceptor listen_at(asio::io_context &context, const tcp::endpoint &at)
{
    try {
        return {context, at}; // with SO_REUSEADDR
    } catch (const boost::system::system_error &error) {
        throw ctl_error{fmt::format("cannot listen at {}, port {}: {}", at.address().to_string(), at.port(),
                                    error.code().message())};
    }
}

} // namespace

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
    const auto parsed = asio::ip::make_address(std::string{address}, address_error);
    if (port.empty() || port_error != std::errc{} || end != port.data() + port.size() || address_error ||
        parsed.is_v6() != in_brackets)
        return std::unexpected{fmt::format("'{}' is no address to listen at; allowed: PORT, IPv4:PORT or [IPv6]:PORT, "
                                           "such as 9101 or [::1]:9101; port 0 to 65535",
                                           text)};
    return tcp::endpoint{parsed, number};
}

void serve_metrics(const tcp::endpoint &at, const renderer &render,
                   const std::function<void(const tcp::endpoint &)> &on_listening)
{
    asio::io_context context{1};
    asio::signal_set ends{context, SIGINT, SIGTERM};
    ends.async_wait([&context](const boost::system::error_code &, int) { context.stop(); });
    tcp::acceptor acceptor = listen_at(context, at);
    for (int i = 0; i < most_connections; ++i)
        asio::co_spawn(context, take_turns(acceptor, render), [](const std::exception_ptr &error) {
            if (error)
                std::rethrow_exception(error);
        });
    on_listening(acceptor.local_endpoint());
    context.run();
}

} // namespace mrc::ctl
