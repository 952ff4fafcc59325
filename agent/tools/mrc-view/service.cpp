// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/service.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/mrc-view/lab/command.h"
#include "tools/mrc-view/lab/order.h"
#include "tools/mrc-view/who_may.h"
#include "tools/mrcctl/json_text.h"

namespace mrc::view
{

namespace
{

namespace asio = boost::asio;
namespace http = tools::http;
using asio::ip::tcp;
using boost::beast::http::field;
using boost::beast::http::verb;

constexpr const char *json_type = "application/json";
constexpr const char *allowed_targets =
    "allowed: /, /snapshot, /history?points=N&events=M, /links/PLANE/A/B, and POST /lab";
constexpr std::string_view token_place = "@TOKEN@";
constexpr std::chrono::seconds longest_order{30};

http::response json_reply(http::status as, const boost::json::object &view)
{
    return http::reply(as, json_type, boost::json::serialize(view));
}

// %20 and the like; what is no such thing stays as it is.
std::string decoded(std::string_view text)
{
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        unsigned byte = 0;
        const char *const digits = text.data() + at + 1;
        if (text[at] == '%' && at + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            result += static_cast<char>(byte);
            at += 2;
        } else {
            result += text[at];
        }
    }
    return result;
}

// Of "points=3&events=7"; 0 for what is not there, or no number.
std::uint64_t number_in(std::string_view query, std::string_view name)
{
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), one.size() + 1));
        if (!one.starts_with(name) || one.substr(name.size(), 1) != "=")
            continue;
        std::uint64_t number = 0;
        std::from_chars(one.data() + name.size() + 1, one.data() + one.size(), number);
        return number;
    }
    return 0;
}

// Nobody else's page may show ours in a frame, read it, or have it load anything from elsewhere.
void protect(http::response &made)
{
    made.set(field::cache_control, "no-store");
    made.set("Content-Security-Policy", "default-src 'self'; img-src data:; base-uri 'none'; "
                                        "form-action 'none'; frame-ancestors 'none'");
    made.set("X-Content-Type-Options", "nosniff");
    made.set("X-Frame-Options", "DENY");
    made.set("Cross-Origin-Resource-Policy", "same-origin");
    made.set("Referrer-Policy", "no-referrer");
}

http::response not_allowed(const char *method)
{
    http::response made = http::refusal(http::status::method_not_allowed, fmt::format("allowed: {}", method));
    made.set(field::allow, method);
    return made;
}

} // namespace

view_service::view_service(view_model &model, page_files page, std::optional<page_file> charts,
                           std::filesystem::path mrc_lab)
    : model_{model}, page_{std::move(page)}, charts_{std::move(charts)}, mrc_lab_{std::move(mrc_lab)},
      token_{make_token()}
{
    std::string &index = page_.at("index.html").content;
    if (const std::size_t at = index.find(token_place); at != std::string::npos)
        index.replace(at, token_place.size(), token_);
}

asio::awaitable<http::response> view_service::answer(http::request asked, tcp::endpoint from)
{
    const std::string target{asked.target().data(), asked.target().size()};
    http::response made;
    if (const auto refused = host_refusal(asked, listening_))
        made = http::refusal(http::status::forbidden, *refused);
    else if (target == "/lab")
        made = co_await order(std::move(asked), std::move(from));
    else if (asked.method() != verb::get)
        made = not_allowed("GET");
    else
        made = answer_get(target);
    protect(made);
    co_return made;
}

http::response view_service::answer_get(const std::string &target) const
{
    const std::string_view whole = target;
    const std::string_view path = whole.substr(0, whole.find('?'));
    const std::string_view query = whole.substr(std::min(whole.size(), path.size() + 1));
    if (path == "/" || path == "/index.html")
        return file("index.html");
    if (path.starts_with("/page/"))
        return file(std::string{path.substr(6)});
    if (path == "/lib/chart.js" && charts_)
        return http::reply(http::status::ok, charts_->type, charts_->content);
    if (path == "/snapshot")
        return http::reply(http::status::ok, json_type, model_.snapshot());
    if (path == "/history")
        return http::reply(http::status::ok, json_type,
                           model_.history(number_in(query, "points"), number_in(query, "events")));
    if (path.starts_with("/links/"))
        return link(std::string{path.substr(7)});
    return http::refusal(http::status::not_found, allowed_targets);
}

http::response view_service::file(const std::string &name) const
{
    const auto found = page_.find(name);
    if (found == page_.end())
        return http::refusal(http::status::not_found, allowed_targets);
    return http::reply(http::status::ok, found->second.type, found->second.content);
}

http::response view_service::link(const std::string &rest) const
{
    const std::size_t first = rest.find('/');
    const std::size_t second = first == std::string::npos ? first : rest.find('/', first + 1);
    link_key key;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), key.plane);
    if (second != std::string::npos && error == std::errc{} && end == rest.data() + first) {
        key.a = decoded(std::string_view{rest}.substr(first + 1, second - first - 1));
        key.b = decoded(std::string_view{rest}.substr(second + 1));
    }
    const auto view = model_.link(key);
    return view ? http::reply(http::status::ok, json_type, *view)
                : http::refusal(http::status::not_found, "no such link; /snapshot names those that there are");
}

asio::awaitable<http::response> view_service::order(http::request asked, tcp::endpoint from)
{
    if (asked.method() != verb::post)
        co_return not_allowed("POST");
    const lab_description *const lab = model_.lab();
    if (lab == nullptr)
        co_return http::refusal(http::status::forbidden, "this is no lab: mrc-view --lab has one");
    if (const auto refused = order_refusal(asked, from, token_))
        co_return http::refusal(http::status::forbidden, *refused);
    auto arguments = arguments_of(asked.body(), *lab);
    if (!arguments)
        co_return http::refusal(http::status::bad_request, arguments.error());
    if (!order_.empty())
        co_return http::refusal(http::status::conflict, fmt::format("'{}' is not done yet", order_));
    const std::string words = fmt::format("mrc-lab {}", fmt::join(*arguments, " "));
    arguments->insert(arguments->end(), {"--prefix", lab->prefix});
    order_ = words;
    lab_outcome outcome;
    try {
        outcome = co_await run_lab(mrc_lab_, *arguments, longest_order);
    } catch (const std::exception &error) { // descriptors or memory are short
        outcome.problem = error.what();
    }
    order_.clear();
    if (!outcome.done)
        co_return http::refusal(http::status::internal_server_error, outcome.problem);
    boost::json::object view;
    view["command"] = ctl::json_text(words);
    co_return json_reply(http::status::ok, view);
}

} // namespace mrc::view
