// SPDX-License-Identifier: Apache-2.0
// What a switch of an SRv6 fabric is configured with, in the languages that switches have.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>

#include "tools/mrcctl/fabric_plan/switches.h"

namespace mrc::ctl
{

enum class switch_language : std::uint8_t {
    iproute2, // shell lines for a Linux host: the kernel's seg6local, since 6.1
    frr,      // FRR since 10.3: zebra and staticd
    sonic,    // CONFIG_DB of SONiC since 202411, for `config load`
};
inline constexpr std::array<std::pair<std::string_view, switch_language>, 3> switch_languages{
    {{"iproute2", switch_language::iproute2}, {"frr", switch_language::frr}, {"sonic", switch_language::sonic}}};

// `block_bits` of the plan. Ends with a line break.
[[nodiscard]] std::string switch_text(const fabric_switch &node, unsigned block_bits, switch_language language);

// SONiC's tables SRV6_MY_LOCATORS, SRV6_MY_SIDS and STATIC_ROUTE (sonic-srv6.yang, sonic-static-route.yang).
[[nodiscard]] boost::json::object sonic_tables(const fabric_switch &node, unsigned block_bits);

} // namespace mrc::ctl
