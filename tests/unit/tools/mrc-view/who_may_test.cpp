// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/who_may.h"

#include <boost/asio/ip/address.hpp>
#include <gtest/gtest.h>

namespace mrc::view
{
namespace
{

using boost::asio::ip::tcp;

const std::string token = make_token();

tcp::endpoint at(const char *address)
{
    return {boost::asio::ip::make_address(address), 9102};
}

tools::http::request asked(const std::string &host, const std::string &origin = {}, const std::string &with = token)
{
    tools::http::request made;
    made.set("Host", host);
    if (!origin.empty())
        made.set("Origin", origin);
    made.set("X-MRC-Token", with);
    return made;
}

TEST(mrc_view_who_may, a_loopback_server_is_asked_by_the_loopbacks_names)
{
    for (const char *good : {"localhost:9102", "127.0.0.1:9102", "[::1]:9102", "localhost"})
        EXPECT_EQ(host_refusal(asked(good), at("127.0.0.1")), std::nullopt) << good;
    for (const char *bad :
         {"evil.example", "evil.example:9102", "127.0.0.1.evil.example", "localhost.evil.example", ""})
        EXPECT_NE(host_refusal(asked(bad), at("127.0.0.1")), std::nullopt) << bad;
    EXPECT_EQ(host_refusal(asked("view.example:9102"), at("192.0.2.1")), std::nullopt) << "it is open to others";
}

TEST(mrc_view_who_may, orders_come_from_the_own_page_on_this_machine)
{
    EXPECT_EQ(order_refusal(asked("127.0.0.1:9102", "http://127.0.0.1:9102"), at("127.0.0.1"), token), std::nullopt);
    EXPECT_EQ(order_refusal(asked("[::1]:9102"), at("::1"), token), std::nullopt) << "no browser, as curl";
    EXPECT_EQ(order_refusal(asked("127.0.0.1:9102"), at("::ffff:127.0.0.1"), token), std::nullopt);
    const auto refused = [](const tools::http::request &request, const char *from) {
        return order_refusal(request, at(from), token).value_or("it is allowed");
    };
    EXPECT_NE(refused(asked("127.0.0.1:9102"), "192.0.2.7").find("from this machine only"), std::string::npos);
    EXPECT_NE(refused(asked("evil.example"), "127.0.0.1").find("from this machine only"), std::string::npos);
    EXPECT_NE(refused(asked("127.0.0.1:9102", "http://evil.example"), "127.0.0.1").find("another origin"),
              std::string::npos);
    EXPECT_NE(refused(asked("127.0.0.1:9102", "http://127.0.0.1:80"), "127.0.0.1").find("another origin"),
              std::string::npos);
    EXPECT_NE(refused(asked("127.0.0.1:9102", "null"), "127.0.0.1").find("another origin"), std::string::npos);
    for (const std::string &wrong : {std::string{}, token.substr(1), token + "0", std::string(token.size(), '0')})
        EXPECT_NE(refused(asked("127.0.0.1:9102", {}, wrong), "127.0.0.1").find("X-MRC-Token"), std::string::npos);
}

TEST(mrc_view_who_may, tokens_are_long_and_each_is_another)
{
    EXPECT_EQ(token.size(), 32U);
    EXPECT_NE(token, make_token());
}

} // namespace
} // namespace mrc::view
