// SPDX-License-Identifier: Apache-2.0
#include "session/host_names.h"

#include <random>

#include <gtest/gtest.h>

namespace mrc::session
{
namespace
{

TEST(host_names, are_labels_of_63_and_253_bytes_in_all)
{
    const std::string label(63, 'x');
    std::string three;
    for (int labels = 0; labels < 3; labels++)
        three.append(label).append(1, '.');
    for (const std::string &name :
         {std::string{"b"}, std::string{"node-1.rack.example"}, label, std::string{"1a"}, three + std::string(61, 'x')})
        EXPECT_TRUE(is_host_name(name)) << name;
    for (const std::string &name :
         {std::string{}, std::string{"."}, std::string{"a."}, std::string{".a"}, std::string{"a..b"}, std::string{"-a"},
          std::string{"a-"}, std::string{"a_b"}, std::string{"a b"}, std::string{"a\nb"}, std::string{"caf\xc3\xa9"},
          label + "x", three + std::string(62, 'x')})
        EXPECT_FALSE(is_host_name(name)) << name;
}

TEST(host_names, are_no_addresses_and_not_this_host)
{
    for (const char *name : {"127.0.0.1", "10", "a.5", "0x7f000001", "a.0x", "localhost", "LOCALHOST", "a.localhost"})
        EXPECT_FALSE(is_host_name(name)) << name;
}

TEST(host_names, come_back_from_the_file_and_nothing_else_does)
{
    const std::vector<named_host> hosts{{"fd00::1", "b", "configuration"}, {"10.0.0.1", "c.example", "file"}};
    const std::string text = to_hosts_text(hosts);
    EXPECT_EQ(parse_hosts_text(text), hosts);
    EXPECT_EQ(parse_hosts_text(text + std::string{"fd00::3\0x c # file\n", 19}), hosts)
        << "nor what ends in the middle";
    EXPECT_EQ(parse_hosts_text(text + "fd00::1\nx y # z\nfd00::2 a b # file\nfd00::2 -a # file\nfd00::2 a # f g\n"),
              hosts);
    EXPECT_EQ(addresses_of_name("C.EXAMPLE", hosts), std::vector<std::string>{"10.0.0.1"});
    EXPECT_TRUE(addresses_of_name("d", hosts).empty());
}

TEST(host_names, of_any_bytes_are_names_or_none)
{
    std::mt19937 random{4791}; // NOLINT(cert-msc32-c,cert-msc51-cpp): the same bytes every time
    const std::string usual = to_hosts_text(std::vector<named_host>{{"fd00::1", "b.c", "file"}});
    for (int round = 0; round < 100'000; ++round) {
        std::string text = usual;
        for (auto left = 1 + random() % 4; left > 0; --left)
            text[random() % text.size()] = static_cast<char>(random());
        for (const named_host &host : parse_hosts_text(text))
            ASSERT_TRUE(is_host_name(host.name)) << text;
    }
}

} // namespace
} // namespace mrc::session
