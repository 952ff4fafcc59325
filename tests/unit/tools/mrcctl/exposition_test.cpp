// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/exposition.h"

#include <cstdint>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

namespace json = boost::json;

json::object labelled(const json::object &labels, const json::value &value)
{
    return {{"labels", labels}, {"value", value}};
}

json::object family(const char *name, const char *type, const json::array &samples)
{
    return {{"name", name}, {"type", type}, {"help", "What it is."}, {"samples", samples}};
}

TEST(mrcctl_exposition, a_family_is_told_before_its_samples)
{
    const json::array ports{labelled({{"mrc_instance", "a"}, {"plane", "0"}}, std::uint64_t{7}),
                            labelled({{"mrc_instance", "a"}, {"plane", "1"}}, std::uint64_t{0})};
    EXPECT_EQ(exposition_of({family("mrc_port_transmit_packets_total", "counter", ports)}),
              "# HELP mrc_port_transmit_packets_total What it is.\n"
              "# TYPE mrc_port_transmit_packets_total counter\n"
              "mrc_port_transmit_packets_total{mrc_instance=\"a\",plane=\"0\"} 7\n"
              "mrc_port_transmit_packets_total{mrc_instance=\"a\",plane=\"1\"} 0\n");
}

TEST(mrcctl_exposition, numbers_are_whole)
{
    const auto written = [](const json::value &value) {
        const std::string text = exposition_of({family("n", "gauge", {labelled({{"l", "v"}}, value)})});
        return text.substr(text.rfind(' ') + 1);
    };
    EXPECT_EQ(written(UINT64_MAX), "18446744073709551615\n") << "no digit is lost to a floating-point number";
    EXPECT_EQ(written(-3), "-3\n");
    EXPECT_EQ(written(0.25), "0.25\n");
    EXPECT_EQ(written(25e-9), "2.5e-08\n");
}

TEST(mrcctl_exposition, values_of_labels_are_escaped)
{
    const json::array samples{labelled({{"device", "a\"b\\c\nd"}}, 1)};
    EXPECT_TRUE(exposition_of({family("n", "gauge", samples)}).ends_with("n{device=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(mrcctl_exposition, a_family_without_samples_is_left_out)
{
    EXPECT_EQ(exposition_of({family("n", "gauge", {})}), "");
}

} // namespace
} // namespace mrc::ctl
