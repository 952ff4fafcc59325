// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them on the command line: 1%, 10Gbit, 64K, 100us.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mrc::lab_switch
{

// "1%" or "0.01" to 1/2^32; "100%" or "1" to MRC_SW_ALWAYS.
[[nodiscard]] std::optional<std::uint32_t> parse_probability(std::string_view text);

// "10Gbit", "500Mbit", "64kbit" or plain bits, to bits per second.
[[nodiscard]] std::optional<double> parse_rate(std::string_view text);

// "100us", "1ms", "500ns" to nanoseconds.
[[nodiscard]] std::optional<double> parse_duration_ns(std::string_view text);

// "64K", "1M" (powers of 1024) or plain bytes; "20%" of `whole`.
[[nodiscard]] std::optional<double> parse_bytes(std::string_view text, double whole);

// "on" or "off".
[[nodiscard]] std::optional<bool> parse_switch(std::string_view text);

} // namespace mrc::lab_switch
