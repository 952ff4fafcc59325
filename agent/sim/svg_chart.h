// SPDX-License-Identifier: Apache-2.0
// A plain line chart as SVG: axes with round numbers, one line per series, a legend.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mrc::sim
{

struct chart_line {
    std::string name;
    std::vector<std::pair<double, double>> points;
    bool dashed = false;
};

struct chart {
    std::string title;
    std::string x_label;
    std::string y_label;
    bool log_x = false; // powers of two
    std::vector<chart_line> lines;
    std::vector<std::pair<double, std::string>> x_names; // ticks; empty: round numbers
};

[[nodiscard]] std::string to_svg(const chart &what);

} // namespace mrc::sim
