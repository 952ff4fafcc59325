// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/metrics_server.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

#include "tools/http/server.h"

namespace mrc::ctl
{

namespace
{

namespace http = tools::http;
using boost::asio::ip::tcp;
using boost::beast::http::field;

constexpr const char *exposition_type = "text/plain; version=0.0.4; charset=utf-8";

http::response answer_to(const http::request &asked, const std::function<std::string()> &render)
{
    if (asked.target() != "/metrics")
        return http::refusal(http::status::not_found, "allowed: /metrics");
    if (asked.method() != boost::beast::http::verb::get) {
        http::response made = http::refusal(http::status::method_not_allowed, "allowed: GET");
        made.set(field::allow, "GET");
        return made;
    }
    return http::reply(http::status::ok, exposition_type, render());
}

} // namespace

void serve_metrics(const tcp::endpoint &at, const std::function<std::string()> &render,
                   const std::function<void(const tcp::endpoint &)> &on_listening)
{
    boost::asio::io_context context{1};
    on_listening(http::serve(context, at, {},
                             [&render](http::request asked, tcp::endpoint) -> boost::asio::awaitable<http::response> {
                                 co_return answer_to(asked, render);
                             }));
    http::run_until_signalled(context);
}

} // namespace mrc::ctl
