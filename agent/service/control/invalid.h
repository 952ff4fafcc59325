// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <expected>
#include <utility>

#include <fmt/format.h>

#include "session/values.h"

namespace mrc::service::control
{

// A request that is refused with EINVAL: what it holds, and what is allowed.
template <class... Args>
[[nodiscard]] std::unexpected<session::refusal> invalid(fmt::format_string<Args...> text, Args &&...args)
{
    return std::unexpected{session::refusal{EINVAL, fmt::format(text, std::forward<Args>(args)...)}};
}

} // namespace mrc::service::control
