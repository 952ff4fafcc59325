// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/link_report.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

link_report sample()
{
    link_report report{.run = 0x12345678, .number = 9, .planes = {}, .faults = {}};
    report.planes[0] = reported_plane{.leaf = MRC_LINK_GOOD, .spines = 3, .good = 0b101};
    report.planes[7] = reported_plane{.leaf = MRC_LINK_LOSSY, .spines = 256, .good = {}};
    report.planes[7]->good[255] = true;
    report.faults = {{.plane = protocol::plane_index{0},
                      .spine = 1,
                      .state = MRC_LINK_DEAD,
                      .direction = MRC_DIRECTION_UP,
                      .loops = 200,
                      .lost = 200},
                     {.plane = protocol::plane_index{7},
                      .spine = std::nullopt,
                      .state = MRC_LINK_SLOW,
                      .loops = 100,
                      .extra_rtt_ns = 2'000'000}};
    return report;
}

bool is_same_report(const link_report &a, const link_report &b)
{
    return a.run == b.run && a.number == b.number && a.planes == b.planes && a.faults == b.faults;
}

TEST(link_report, comes_back_as_it_was)
{
    const auto back = decode_link_report(encode(sample()));
    ASSERT_TRUE(back);
    EXPECT_TRUE(is_same_report(*back, sample()));
}

TEST(link_report, has_the_bytes_that_its_header_says)
{
    link_report report{.run = 1, .number = 2, .planes = {}, .faults = {}};
    report.planes[3] = reported_plane{.leaf = MRC_LINK_GOOD, .spines = 0x11, .good = 0x8001};
    report.faults = {{.plane = protocol::plane_index{3}, .spine = 0x10, .loops = 5, .lost = 4, .extra_rtt_ns = 6}};
    std::vector<std::uint8_t> expected{'M', 'R', 'C', 'F',  1,    1,   0, 1, 0, 0, 0, 1, 0, 0, 0, 2, //
                                       3,   1,   0,   0x11, 0x01, 0x80};
    expected.resize(16 + 36); // of the other spines none is good
    const std::vector<std::uint8_t> fault{3, 4, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, 6};
    expected.insert(expected.end(), fault.begin(), fault.end());
    const std::vector<std::byte> bytes = encode(report);
    ASSERT_EQ(bytes.size(), expected.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        EXPECT_EQ(std::to_integer<int>(bytes[i]), int{expected[i]}) << "byte " << i;
}

TEST(link_report, fits_its_bound_however_many_faults_there_are)
{
    link_report report = sample();
    for (auto &plane : report.planes)
        plane.emplace();
    report.faults.clear();
    for (std::uint32_t spine = 1; spine < 256; ++spine)
        report.faults.push_back({.plane = protocol::plane_index{1}, .spine = spine});
    const std::vector<std::byte> bytes = encode(report);
    EXPECT_EQ(bytes.size(), link_report_bytes);
    EXPECT_LE(bytes.size(), 1280U - 88) << "an IPv6 minimum MTU, without both IP headers and UDP";
    const auto back = decode_link_report(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->faults.size(), most_reported_faults);
}

TEST(link_report, of_another_length_or_with_a_byte_that_is_no_report_s_is_none)
{
    const std::vector<std::byte> right = encode(sample());
    for (std::size_t length = 0; length < right.size(); ++length)
        EXPECT_FALSE(decode_link_report(std::span{right}.first(length))) << length;
    std::vector<std::byte> longer(right.size() + 1); // g++ 14 sees push_back() write outside (-Warray-bounds)
    std::ranges::copy(right, longer.begin());
    EXPECT_FALSE(decode_link_report(longer));

    const std::size_t first_plane = 16;
    const std::size_t first_fault = first_plane + 2 * std::size_t{36};
    struct change {
        std::size_t at;
        int value;
        const char *what;
    };
    for (const change &each :
         {change{0, 'X', "magic"}, change{4, 2, "another version"}, change{5, 9, "planes"}, change{6, 1, "faults"},
          change{first_plane, 8, "plane"}, change{first_plane + 36, 0, "a plane twice"},
          change{first_plane + 1, 5, "state"}, change{first_plane + 2, 2, "spines"},
          change{first_fault, 8, "plane of a fault"}, change{first_fault + 1, MRC_LINK_GOOD, "a fault that is good"},
          change{first_fault + 2, 4, "direction"}, change{first_fault + 3, 1, "zero"},
          change{first_fault + 4, 1, "spine"}, change{first_fault + 5, 0, "a fault of a spine that is good"},
          change{first_fault, 1, "a fault of a plane that is not there"}, change{first_fault + 7, 1, "zero"},
          change{first_fault + 11, 1, "more lost than sent"}}) {
        std::vector<std::byte> wrong = right;
        wrong[each.at] = static_cast<std::byte>(each.value);
        EXPECT_FALSE(decode_link_report(wrong)) << each.what;
    }
}

// Counted twice, it would make one host two.
TEST(link_report, that_names_a_fault_twice_or_out_of_order_is_none)
{
    for (const auto &[first, second] : {std::pair<std::optional<std::uint32_t>, std::optional<std::uint32_t>>{4, 4},
                                        {5, 4},
                                        {4, std::nullopt},
                                        {std::nullopt, std::nullopt}}) {
        link_report report = sample();
        report.planes[1] = reported_plane{.leaf = MRC_LINK_LOSSY, .spines = 8, .good = {}};
        report.faults = {{.plane = protocol::plane_index{1}, .spine = first},
                         {.plane = protocol::plane_index{1}, .spine = second}};
        EXPECT_FALSE(decode_link_report(encode(report)));
        report.faults.pop_back();
        EXPECT_TRUE(decode_link_report(encode(report)));
    }
}

} // namespace
} // namespace mrc::service
