// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/lab/order.h"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <fmt/format.h>

namespace mrc::view
{

namespace
{

namespace json = boost::json;
using arguments = std::expected<std::vector<std::string>, std::string>;

constexpr double most_percent = 100;

std::string text_in(const json::object &order, const char *name)
{
    const json::value *const found = order.if_contains(name);
    return found != nullptr && found->is_string() ? std::string{found->get_string()} : std::string{};
}

bool has_link(const lab_description &lab, const std::string &a, const std::string &b)
{
    return std::ranges::any_of(lab.links, [&](const lab_link &link) {
        return (link.key.a == a && link.key.b == b) || (link.key.a == b && link.key.b == a);
    });
}

arguments of_plane(const json::value &plane, const lab_description &lab, const std::string &state)
{
    const std::int64_t number = plane.is_int64() ? plane.get_int64() : -1;
    if (number < 0 || number >= std::int64_t{lab.planes})
        return std::unexpected{fmt::format("plane: allowed: 0 to {}", lab.planes - 1)};
    return std::vector<std::string>{"plane", std::to_string(number), state};
}

arguments of_link(const json::object &order, const lab_description &lab, const std::string &what)
{
    const std::string a = text_in(order, "a");
    const std::string b = text_in(order, "b");
    if (!has_link(lab, a, b))
        return std::unexpected{fmt::format("a and b: the lab has no link between '{}' and '{}'", a, b)};
    if (what != "impair")
        return std::vector<std::string>{"link", a, b, what == "cut" ? "down" : "up"};
    const json::value *const given = order.if_contains("loss");
    const double loss = given != nullptr && given->is_number() ? given->to_number<double>() : -1;
    if (!(loss >= 0 && loss <= most_percent))
        return std::unexpected{std::string{"loss: allowed: 0 to 100, in percent"}};
    if (loss == 0)
        return std::vector<std::string>{"impair", a, b, "--clear"};
    return std::vector<std::string>{"impair", a, b, "--loss", fmt::format("{:.3f}%", loss)};
}

} // namespace

arguments arguments_of(const std::string &order, const lab_description &lab)
{
    boost::system::error_code error;
    const json::value parsed = json::parse(order, error);
    if (error || !parsed.is_object())
        return std::unexpected{std::string{"an order is a JSON object"}};
    const json::object &wanted = parsed.get_object();
    const std::string what = text_in(wanted, "do");
    if (what != "cut" && what != "restore" && what != "impair")
        return std::unexpected{fmt::format("do: '{}'; allowed: cut, restore, impair", what)};
    const json::value *const plane = wanted.if_contains("plane");
    if (plane != nullptr && what != "impair")
        return of_plane(*plane, lab, what == "cut" ? "down" : "up");
    return of_link(wanted, lab, what);
}

} // namespace mrc::view
