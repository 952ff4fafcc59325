// SPDX-License-Identifier: Apache-2.0
#include "tools/http/server.h"

#include <csignal>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "tools/http/endpoint.h"

namespace mrc::tools::http
{

namespace
{

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

constexpr std::chrono::milliseconds pause_before_retry{100};

struct open_port {
    tcp::acceptor acceptor;
    server_limits limits;
    request_handler handler;
};

response refusal_of(const beast::error_code &error, const server_limits &limits)
{
    using reason = beast::http::error;
    if (error == reason::header_limit || error == reason::buffer_overflow)
        return refusal(status::request_header_fields_too_large,
                       fmt::format("a request has at most {} bytes", limits.header_bytes));
    if (error == reason::body_limit)
        return refusal(status::payload_too_large,
                       fmt::format("a request's body has at most {} bytes", limits.body_bytes));
    return refusal(status::bad_request, fmt::format("no request of HTTP/1.1: {}", error.message()));
}

asio::awaitable<response> answer_to(const open_port &at, request asked, tcp::endpoint from)
{
    std::string problem;
    try {
        co_return co_await at.handler(std::move(asked), std::move(from));
    } catch (const std::exception &error) { // what it shows may come back
        problem = error.what();
    }
    co_return refusal(status::service_unavailable, problem);
}

// Errors of the connection end it, and are nobody else's business.
asio::awaitable<void> serve_one(tcp::socket socket, const open_port &at)
{
    beast::error_code error;
    const tcp::endpoint from = socket.remote_endpoint(error);
    beast::tcp_stream stream{std::move(socket)};
    stream.expires_after(at.limits.exchange);
    beast::flat_buffer buffer{at.limits.header_bytes + at.limits.body_bytes};
    beast::http::request_parser<beast::http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(at.limits.header_bytes));
    parser.body_limit(at.limits.body_bytes);
    co_await beast::http::async_read(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, error));
    if (error && error.category() != beast::http::make_error_code(beast::http::error::end_of_stream).category())
        co_return; // the connection is lost, or takes too long
    response answer;
    if (error)
        answer = refusal_of(error, at.limits);
    else
        answer = co_await answer_to(at, parser.release(), from);
    stream.expires_after(at.limits.exchange);
    co_await beast::http::async_write(stream, answer, asio::redirect_error(asio::use_awaitable, error));
    (void)stream.socket().shutdown(tcp::socket::shutdown_send, error);
}

// One connection after the other; there are as many of these as connections at a time.
asio::awaitable<void> take_turns(std::shared_ptr<open_port> at)
{
    while (true) {
        boost::system::error_code error;
        tcp::socket socket = co_await at->acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (!error)
            co_await serve_one(std::move(socket), *at);
        else if (error == asio::error::bad_descriptor || error == asio::error::operation_aborted)
            throw std::runtime_error{fmt::format("cannot accept connections: {}", error.message())};
        else if (error != asio::error::connection_aborted) { // descriptors or memory are short, for now
            asio::steady_timer pause{at->acceptor.get_executor(), pause_before_retry};
            co_await pause.async_wait(asio::use_awaitable);
        }
    }
}

tcp::acceptor listen_at(asio::io_context &context, const tcp::endpoint &at)
{
    try {
        return {context, at}; // with SO_REUSEADDR
    } catch (const boost::system::system_error &error) {
        throw std::runtime_error{fmt::format("cannot listen at {}, port {}: {}", at.address().to_string(), at.port(),
                                             error.code().message())};
    }
}

} // namespace

response reply(status as, const char *type, std::string body)
{
    response made{as, 11};
    made.set(beast::http::field::content_type, type);
    made.keep_alive(false);
    made.body() = std::move(body);
    made.prepare_payload();
    return made;
}

response refusal(status as, const std::string &why)
{
    return reply(as, text_type, why + '\n');
}

tcp::endpoint serve(asio::io_context &context, const tcp::endpoint &at, const server_limits &limits,
                    request_handler handler)
{
    const auto made = std::make_shared<open_port>(listen_at(context, at), limits, std::move(handler));
    for (int i = 0; i < limits.connections; ++i)
        asio::co_spawn(context, take_turns(made), [](const std::exception_ptr &error) {
            if (error)
                std::rethrow_exception(error);
        });
    return made->acceptor.local_endpoint();
}

void run_until_signalled(asio::io_context &context)
{
    asio::signal_set ends{context, SIGINT, SIGTERM};
    ends.async_wait([&context](const boost::system::error_code &, int) { context.stop(); });
    context.run();
}

} // namespace mrc::tools::http
