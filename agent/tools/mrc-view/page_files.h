// SPDX-License-Identifier: Apache-2.0
// The page: files that are installed beside this program, and the chart library of another package.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace mrc::view
{

inline constexpr const char *chart_library = "/usr/share/javascript/chart.js/chart.min.js";

struct page_file {
    const char *type = nullptr; // for Content-Type
    std::string content{};
};

// By name, as "index.html".
using page_files = std::map<std::string, page_file>;

// agent/tools/mrc-view/page of the tree that this program was built in, or share/mrc/view below its prefix.
[[nodiscard]] std::filesystem::path find_page();

// Throws std::runtime_error when it has no index.html that can be read.
[[nodiscard]] page_files load_page(const std::filesystem::path &folder);

// Debian's libjs-chart.js; nullopt: it is not installed, and the page says so.
[[nodiscard]] std::optional<page_file> load_chart_library();

} // namespace mrc::view
