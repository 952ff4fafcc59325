// SPDX-License-Identifier: Apache-2.0
// What rank 0 prints: lines of a table as they come, or one JSON object at the end.
#pragma once

#include <span>
#include <string>

#include "tools/mrc-collectives/measure.h"
#include "tools/mrc-collectives/options.h"

namespace mrc::collectives
{

[[nodiscard]] std::string table_head(const collectives_options &chosen);
[[nodiscard]] std::string table_line(const collective_times &one, const collectives_options &chosen);
[[nodiscard]] std::string json_text(std::span<const collective_times> all, const collectives_options &chosen);

} // namespace mrc::collectives
