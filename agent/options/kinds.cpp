// SPDX-License-Identifier: Apache-2.0
#include "options/kinds.h"

#include <algorithm>
#include <cctype>

#include <net/if.h>

namespace mrc::options
{

namespace
{

bool is_printable(char character)
{
    return std::isprint(static_cast<unsigned char>(character)) != 0;
}

} // namespace

bool absolute_path::read(const value &from, std::string &to) const
{
    const auto *text = from.text();
    if (text == nullptr || !text->starts_with('/') || text->size() > longest ||
        !std::ranges::all_of(*text, is_printable))
        return false;
    to = *text;
    return true;
}

bool device_name::read(const value &from, std::string &to)
{
    const auto *text = from.text();
    const auto is_allowed = [](char character) {
        return is_printable(character) && character != ' ' && character != '/' && character != ':';
    };
    if (text == nullptr || text->empty() || text->size() >= IFNAMSIZ || *text == "." || *text == ".." ||
        !std::ranges::all_of(*text, is_allowed))
        return false;
    to = *text;
    return true;
}

} // namespace mrc::options
