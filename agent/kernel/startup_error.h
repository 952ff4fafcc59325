// SPDX-License-Identifier: Apache-2.0
// Thrown while starting up only, with one line that names what failed and what the user can do about it.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace mrc::kernel
{

struct startup_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws startup_error "WHAT: text of errno"; `error` defaults to errno.
[[noreturn]] inline void fail_startup(const std::string &what, int error = errno)
{
    throw startup_error{what + ": " + std::strerror(error)};
}

} // namespace mrc::kernel
