// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace mrc::ctl
{

// One line that says what is wrong and what is allowed; exit status 1.
struct ctl_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace mrc::ctl
