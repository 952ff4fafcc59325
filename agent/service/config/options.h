// SPDX-License-Identifier: Apache-2.0
// The one table of mrcd's options: it drives reading, checking, printing, and the test that compares the documents with
// it.
#pragma once

#include <expected>

#include "options/table.h"
#include "service/config/config.h"

namespace mrc::service
{

// In the order in which they are printed.
[[nodiscard]] const options::table_of<daemon_config> &config_options();

// Whether the option, "fabric.leaves" or "port[1].gateway", means something in a fabric of this kind.
[[nodiscard]] bool is_of_fabric(fabric_mode mode, std::string_view name);

// Fills in what follows from other options, and checks the options against each other.
[[nodiscard]] std::expected<void, config_error> complete_config(daemon_config &config);

} // namespace mrc::service
