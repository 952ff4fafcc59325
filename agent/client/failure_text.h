// SPDX-License-Identifier: Apache-2.0
// mrc_failure_text(): the words of the call that failed last, for each thread its own.
#pragma once

#include <string_view>

namespace mrc::client
{

// Cut to what fits; allocates nothing, as a full queue fails posts at their full rate.
void remember_failure(std::string_view text) noexcept;

} // namespace mrc::client
