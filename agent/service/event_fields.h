// SPDX-License-Identifier: Apache-2.0
// What an event says beside its kind, reason and text, field by field: `mrcctl -j event` and the journal have the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mrc/abi/maps.h"

namespace mrc::service
{

struct event_field {
    std::string_view name;
    std::variant<std::monostate, std::uint64_t, std::string> value; // monostate: this one has none
};

// Those that the event's kind has.
[[nodiscard]] std::vector<event_field> fields_of(const mrc_event_row &event);

} // namespace mrc::service
