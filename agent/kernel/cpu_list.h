// SPDX-License-Identifier: Apache-2.0
// Lists of CPUs, as the kernel writes them below /sys and /proc and `taskset -c` takes them: "0-3,8".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mrc::kernel
{

// Numbers of CPUs, each once, in rising order.
using cpu_list = std::vector<std::uint32_t>;

inline constexpr std::uint32_t most_cpus = 1024; // cpu_set_t's

// Numbers and ranges with commas between them, in any order; empty text is no CPU. Nothing for anything else, a range
// that falls, or a number from most_cpus on.
[[nodiscard]] std::optional<cpu_list> parse_cpu_list(std::string_view text);
[[nodiscard]] std::string cpu_list_text(const cpu_list &cpus);
// Of `all` those that `some` has, too.
[[nodiscard]] cpu_list common_cpus(const cpu_list &all, const cpu_list &some);
// Those that `some` has not.
[[nodiscard]] cpu_list cpus_without(const cpu_list &all, const cpu_list &some);

} // namespace mrc::kernel
