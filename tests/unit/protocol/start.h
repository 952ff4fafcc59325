// SPDX-License-Identifier: Apache-2.0
// When the tests of the transport begin: at no moment that is zero.
#pragma once

#include "protocol/types.h"

namespace mrc::protocol
{

inline constexpr instant start{std::chrono::seconds{1}};

} // namespace mrc::protocol
