// SPDX-License-Identifier: Apache-2.0
// What is known of drivers is what docs/nics.md says, which has it from their source.
#include <fstream>
#include <map>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "service/ports/nic_drivers.h"
#include "service/ports/port_plan.h"

namespace mrc::service
{
namespace
{

// The lines of the table under a heading of the page.
std::vector<std::string> table_under(const std::string &heading)
{
    std::ifstream page{MRC_SOURCE_DIR "/docs/nics.md"};
    std::vector<std::string> rows;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## "))
            inside = line == heading;
        else if (inside && line.starts_with("| ") && !line.starts_with("| driver |"))
            rows.push_back(line);
        else if (inside && !rows.empty())
            break;
    }
    return rows;
}

// As ethtool has them, where the page has another name.
std::string name_of(const std::string &on_page)
{
    const std::map<std::string, std::string> others{{"mlx5", "mlx5_core"}, {"bnxt", "bnxt_en"}};
    const auto other = others.find(on_page);
    return other == others.end() ? on_page : other->second;
}

// check(driver, line, what the row matched) for each driver of the table.
template <typename Check>
void expect_rows(const std::string &heading, const std::regex &row, Check check)
{
    const auto rows = table_under(heading);
    EXPECT_EQ(rows.size(), 10U);
    for (const std::string &line : rows) {
        std::smatch cells;
        ASSERT_TRUE(std::regex_match(line, cells, row)) << line;
        const nic_driver *const known = find_nic_driver(name_of(cells[1]));
        ASSERT_NE(known, nullptr) << line;
        check(*known, line, cells);
    }
}

TEST(nic_drivers, are_as_the_page_has_them)
{
    // | driver | largest MTU, one buffer | several buffers | headroom |
    const std::regex row{R"(\| (\w+) \| (\d+)[^|]* \| (\w+)[^|]* \| (\**\w+)[^|]* \|.*)"};
    expect_rows("## Native XDP, packets of several buffers, headroom", row,
                [](const nic_driver &known, const std::string &line, const std::smatch &cells) {
                    EXPECT_EQ(std::to_string(known.single_buffer_mtu), cells[2]) << line;
                    EXPECT_EQ(known.several_buffers, cells[3] != "no") << line;
                    EXPECT_EQ(known.headroom, cells[4] == "yes") << line;
                });
}

TEST(nic_drivers, handle_redirected_frames_as_the_page_has_it)
{
    const std::regex row{R"(\| (\w+) \| .*)"};
    expect_rows("## Redirection into a port: `transmit.engine = \"xdp\"`", row,
                [](const nic_driver &known, const std::string &line, const std::smatch &) {
                    EXPECT_EQ(known.own_queue_only, line.find("the CPU's own") != std::string::npos) << line;
                    EXPECT_EQ(known.returns_frames, line.find("frames back at once") != std::string::npos) << line;
                });
}

TEST(nic_drivers, refuse_what_is_too_long_for_one_buffer)
{
    struct row {
        const char *driver;
        std::uint32_t mtu;
        bool several_buffers;
        bool refuses;
    };
    const row table[] = {
        {"ice", 3046, false, false},      {"ice", 3047, false, true}, {"ice", 9000, true, false},
        {"ixgbe", 9000, true, true},      {"gve", 3400, false, true}, {"veth", 3400, false, false},
        {"atlantic", 9000, false, false},
    };
    for (const row &entry : table)
        EXPECT_EQ(refuses_mtu(entry.driver, entry.mtu, entry.several_buffers), entry.refuses)
            << entry.driver << " at " << entry.mtu;
}

TEST(nic_drivers, set_the_mtu_that_native_xdp_needs)
{
    EXPECT_EQ(largest_single_buffer_mtu("ice"), 3046U);
    EXPECT_EQ(largest_single_buffer_mtu("mlx5_core"), single_buffer_mtu);
    EXPECT_EQ(largest_single_buffer_mtu(""), single_buffer_mtu);
}

} // namespace
} // namespace mrc::service
