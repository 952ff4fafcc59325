// SPDX-License-Identifier: Apache-2.0
// Fields of maps' rows as JSON values.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "mrc/abi/maps.h"
#include "service/address.h"
#include "tools/mrcctl/json_text.h"

namespace mrc::ctl
{

// Up to its zero, if it has one.
template <std::size_t Size>
[[nodiscard]] boost::json::string text_in(const char (&name)[Size])
{
    return json_text(std::string_view{name, ::strnlen(name, Size)});
}

[[nodiscard]] inline boost::json::value address_or_null(const mrc_ip &address)
{
    return service::is_same(address, mrc_ip{}) ? boost::json::value(nullptr)
                                               : boost::json::value(json_text(service::to_text(address)));
}

template <std::size_t Size>
[[nodiscard]] boost::json::string name_in(const std::array<std::string_view, Size> &names, std::size_t value)
{
    return value < Size ? json_text(names[value]) : json_text(fmt::format("unknown ({})", value));
}

} // namespace mrc::ctl
