// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/hello.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace mrc::setup
{
namespace
{

hello usual()
{
    return {.host = 0x1122334455667788,
            .run = 7,
            .plan = 9,
            .port = 1,
            .ports = 2,
            .name = "node-a-rack",
            .heard = {{.from = {.host = 5, .port = 0}, .by = 1}, {.from = {.host = 6, .port = 7}, .by = 0}}};
}

std::vector<std::byte> changed(std::size_t offset, int value)
{
    auto datagram = encode_hello(usual());
    datagram[offset] = static_cast<std::byte>(value);
    return datagram;
}

TEST(hello, comes_back_as_it_was_encoded)
{
    EXPECT_EQ(decode_hello(encode_hello(usual())), usual());
    hello lonely = usual();
    lonely.heard.clear();
    EXPECT_EQ(decode_hello(encode_hello(lonely)), lonely);
}

TEST(hello, the_bytes_are_those_that_the_header_lists)
{
    const auto datagram = encode_hello(usual());
    ASSERT_EQ(datagram.size(), 34 + 11 + 2 * 10U);
    EXPECT_EQ(std::to_integer<int>(datagram[4]), 1);
    EXPECT_EQ(std::to_integer<int>(datagram[8]), 0x11) << "network byte order";
    EXPECT_EQ(std::to_integer<int>(datagram[33]), 2);
    EXPECT_EQ(std::to_integer<int>(datagram[45 + 7]), 5);
}

TEST(hello, of_another_version_or_length_is_none)
{
    const auto whole = encode_hello(usual());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
        EXPECT_FALSE(decode_hello(std::span{whole}.first(bytes))) << bytes;
    auto longer = whole;
    longer.push_back({});
    EXPECT_FALSE(decode_hello(longer));
    EXPECT_FALSE(decode_hello(changed(0, 'm')));
    EXPECT_FALSE(decode_hello(changed(4, 2)));
    EXPECT_FALSE(decode_hello(std::vector<std::byte>(most_hello_bytes + 1)));
}

TEST(hello, with_a_value_that_is_not_allowed_is_none)
{
    EXPECT_FALSE(decode_hello(changed(5, 2))) << "port 2 of 2";
    EXPECT_FALSE(decode_hello(changed(6, 0)));
    EXPECT_FALSE(decode_hello(changed(6, 9))) << "more ports than planes";
    EXPECT_FALSE(decode_hello(changed(7, 12))) << "a name longer than it is";
    EXPECT_FALSE(decode_hello(changed(34, '"'))) << "names stand in files and on terminals";
    EXPECT_FALSE(decode_hello(changed(34, 0x1b)));
    EXPECT_FALSE(decode_hello(changed(45 + 8, 8))) << "no host has a port 8";
    EXPECT_FALSE(decode_hello(changed(45 + 9, 2))) << "it has no port 2 to hear by";
    EXPECT_FALSE(decode_hello(changed(45 + 7, 7))) << "out of order";
    for (const char *name : {"localhost", "a.b", "-a", "a-", "127", "0xa"}) {
        hello named = usual();
        named.name = name;
        EXPECT_FALSE(decode_hello(encode_hello(named))) << name;
    }
    hello nobody = usual();
    nobody.host = 0;
    EXPECT_FALSE(decode_hello(encode_hello(nobody)));
    hello twice = usual();
    twice.heard[1] = twice.heard[0];
    EXPECT_FALSE(decode_hello(encode_hello(twice)));
}

TEST(hello, of_any_bytes_is_none_or_comes_back_the_same)
{
    std::mt19937 random{4972}; // NOLINT(cert-msc32-c,cert-msc51-cpp): the same mutations every time
    std::size_t taken = 0;
    for (int round = 0; round < 200'000; ++round) {
        auto datagram = encode_hello(usual());
        for (auto left = 1 + random() % 3; left > 0; --left)
            datagram[random() % datagram.size()] = static_cast<std::byte>(random());
        if (random() % 4 == 0)
            datagram.resize(random() % (most_hello_bytes + 8));
        const auto decoded = decode_hello(datagram);
        if (!decoded)
            continue;
        ++taken;
        ASSERT_EQ(encode_hello(*decoded), datagram);
    }
    EXPECT_GT(taken, 1000U) << "or nothing was tried";
}

TEST(hello, never_has_more_links_than_fit)
{
    hello crowded = usual();
    crowded.heard.clear();
    for (std::uint64_t host = 1; host <= most_links + 4; ++host)
        crowded.heard.push_back({.from = {.host = host, .port = 0}, .by = 0});
    crowded.name = std::string(session::most_label_bytes, 'x');
    const auto datagram = encode_hello(crowded);
    EXPECT_EQ(datagram.size(), most_hello_bytes);
    const auto decoded = decode_hello(datagram);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->heard.size(), most_links);
}

TEST(hello, names_are_cut_and_cleaned)
{
    EXPECT_EQ(hello_name("node-a.rack"), "node-a") << "a stranger has no domain to claim";
    EXPECT_EQ(hello_name("a\x1b[31m b"), "a--31m-b");
    EXPECT_EQ(hello_name("-a_"), "a");
    for (const char *none : {"", "-", ".", "localhost", "10", "0x7f"})
        EXPECT_EQ(hello_name(none), "host") << none;
    EXPECT_EQ(hello_name(std::string(100, 'x')).size(), session::most_label_bytes);
}

} // namespace
} // namespace mrc::setup
