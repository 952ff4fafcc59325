// SPDX-License-Identifier: Apache-2.0
// Strings of Boost.JSON, which knows no std::string_view.
#pragma once

#include <string_view>

#include <boost/json/string.hpp>

namespace mrc::ctl
{

[[nodiscard]] inline boost::json::string json_text(std::string_view from)
{
    return boost::json::string{from.data(), from.size()};
}

} // namespace mrc::ctl
