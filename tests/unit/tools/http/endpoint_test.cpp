// SPDX-License-Identifier: Apache-2.0
#include "tools/http/endpoint.h"

#include <gtest/gtest.h>

namespace mrc::tools::http
{
namespace
{

std::string endpoint_of(const std::string &text)
{
    const auto parsed = parse_endpoint(text);
    return parsed ? parsed->address().to_string() + " " + std::to_string(parsed->port()) : parsed.error();
}

TEST(http_endpoint, is_on_the_loopback_unless_told_otherwise)
{
    EXPECT_EQ(endpoint_of("9101"), "127.0.0.1 9101");
    EXPECT_EQ(endpoint_of("192.0.2.1:0"), "192.0.2.1 0");
    EXPECT_EQ(endpoint_of("[::1]:65535"), "::1 65535");
}

TEST(http_endpoint, says_which_addresses_are_allowed)
{
    for (const char *wrong : {"", ":", ":9101", "127.0.0.1:", "65536", "-1", "9101x", "::1:9101", "[127.0.0.1]:9101",
                              "[::1]", "localhost:9101", "[]:1"})
        EXPECT_TRUE(
            endpoint_of(wrong).starts_with("'" + std::string{wrong} + "' is no address to listen at; allowed: "))
            << endpoint_of(wrong);
}

TEST(http_endpoint, stands_in_urls)
{
    for (const char *text : {"127.0.0.1:9101", "[::1]:80"})
        EXPECT_EQ(to_text(parse_endpoint(text).value()), text);
}

} // namespace
} // namespace mrc::tools::http
