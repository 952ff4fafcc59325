// SPDX-License-Identifier: Apache-2.0
#include "options/origins.h"

#include <utility>

#include <fmt/format.h>

namespace mrc::options
{

std::string error::text() const
{
    std::string text = file;
    if (at.line != 0)
        text += fmt::format(":{}", at.line);
    if (at.column != 0)
        text += fmt::format(":{}", at.column);
    if (!key.empty())
        text += ": " + key;
    return text + ": " + problem;
}

error origins::error_at(std::string key, std::string problem) const
{
    auto found = given.find(key);
    if (const auto dot = key.rfind('.'); found == given.end() && dot != std::string::npos)
        found = given.find(key.substr(0, dot));
    const auto at = found == given.end() ? position{} : found->second;
    return {.file = file, .at = at, .key = std::move(key), .problem = std::move(problem)};
}

} // namespace mrc::options
