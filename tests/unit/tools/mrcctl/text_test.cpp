// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/text.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include "kernel/map_names.h"
#include "mrc/abi/maps.h"

namespace mrc::ctl
{
namespace
{

namespace json = boost::json;

// 101 paths in the first state, 102 in the second, and so on.
json::object paths_in_every_state()
{
    json::object paths;
    for (std::size_t state = MRC_PATH_GOOD; state < kernel::path_state_names.size(); ++state)
        paths[kernel::path_state_names[state]] = 100 + state;
    return paths;
}

std::vector<std::string> words_of(const std::string &text)
{
    std::istringstream words{text};
    return {std::istream_iterator<std::string>{words}, {}};
}

void expect_every_state(const std::string &table)
{
    const std::vector<std::string> words = words_of(table);
    for (std::size_t state = MRC_PATH_GOOD; state < kernel::path_state_names.size(); ++state)
        EXPECT_EQ(std::ranges::count(words, std::to_string(100 + state)), 1)
            << kernel::path_state_names[state] << " in\n"
            << table;
}

TEST(mrcctl_text, a_port_counts_its_paths_in_every_state)
{
    expect_every_state(ports_text({json::object{{"port", "1"}, {"paths", paths_in_every_state()}}}));
}

TEST(mrcctl_text, top_counts_a_planes_paths_in_every_state)
{
    const json::object daemon{{"alive", true}, {"pid", 1}, {"state", "running"}, {"uptime_s", 1.0}};
    expect_every_state(top_text({{"instance", "mrc"},
                                 {"daemon", daemon},
                                 {"seconds", 1.0},
                                 {"planes", {json::object{{"plane", 0}, {"paths", paths_in_every_state()}}}},
                                 {"workers", json::array{}},
                                 {"worst_paths", json::array{}},
                                 {"qps", json::array{}}},
                                0));
}

} // namespace
} // namespace mrc::ctl
