// SPDX-License-Identifier: Apache-2.0
#include "kernel/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace mrc::kernel
{

namespace
{

// The number at the beginning of `text`, which is shortened by it.
std::optional<std::uint32_t> take_number(std::string_view &text)
{
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number >= most_cpus)
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

} // namespace

std::optional<cpu_list> parse_cpu_list(std::string_view text)
{
    cpu_list found;
    while (!text.empty()) {
        const auto first = take_number(text);
        auto last = first;
        if (first && text.starts_with('-')) {
            text.remove_prefix(1);
            last = take_number(text);
        }
        if (!first || !last || *last < *first)
            return std::nullopt;
        for (std::uint32_t cpu = *first; cpu <= *last; ++cpu)
            found.push_back(cpu);
        if (text.empty())
            break;
        if (text.front() != ',' || text.size() == 1)
            return std::nullopt;
        text.remove_prefix(1);
    }
    std::ranges::sort(found);
    const auto repeated = std::ranges::unique(found);
    found.erase(repeated.begin(), repeated.end());
    return found;
}

std::string cpu_list_text(const cpu_list &cpus)
{
    std::string text;
    for (std::size_t first = 0; first < cpus.size();) {
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1)
            ++last;
        text += (text.empty() ? "" : ",") + std::to_string(cpus[first]);
        if (last != first)
            text += '-' + std::to_string(cpus[last]);
        first = last + 1;
    }
    return text;
}

cpu_list common_cpus(const cpu_list &all, const cpu_list &some)
{
    cpu_list common;
    std::ranges::set_intersection(all, some, std::back_inserter(common));
    return common;
}

cpu_list cpus_without(const cpu_list &all, const cpu_list &some)
{
    cpu_list rest;
    std::ranges::set_difference(all, some, std::back_inserter(rest));
    return rest;
}

} // namespace mrc::kernel
