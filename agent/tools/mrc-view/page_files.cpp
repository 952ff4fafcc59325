// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/page_files.h"

#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/mrc-view/own_folder.h"

namespace mrc::view
{

namespace
{

constexpr std::array<std::pair<std::string_view, const char *>, 3> types{{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
}};

std::optional<page_file> load(const std::filesystem::path &path)
{
    for (const auto &[ending, type] : types) {
        if (path.extension() != ending)
            continue;
        std::ifstream file{path, std::ios::binary};
        if (!file)
            return std::nullopt;
        return page_file{.type = type, .content = {std::istreambuf_iterator<char>{file}, {}}};
    }
    return std::nullopt;
}

} // namespace

std::filesystem::path find_page()
{
    const auto in_tree = own_folder() / "../../agent/tools/mrc-view/page";
    std::error_code none;
    return std::filesystem::exists(in_tree, none) ? in_tree.lexically_normal()
                                                  : (own_folder() / "../share/mrc/view").lexically_normal();
}

page_files load_page(const std::filesystem::path &folder)
{
    page_files files;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator{folder, error})
        if (auto file = load(entry.path()))
            files.emplace(entry.path().filename().string(), std::move(*file));
    if (!files.contains("index.html"))
        throw std::runtime_error{
            fmt::format("the page's files are not in '{}': install the package mrcd again", folder.string())};
    return files;
}

std::optional<page_file> load_chart_library()
{
    return load(chart_library);
}

} // namespace mrc::view
