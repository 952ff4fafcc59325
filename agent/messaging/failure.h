// SPDX-License-Identifier: Apache-2.0
// Why messaging cannot go on: one line for people. Thrown while starting up only.
#pragma once

#include <stdexcept>
#include <string>

namespace mrc::messaging
{

class messaging_failure : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

inline constexpr const char *daemon_gone = "mrcd of this host is gone";

// Of the call of mrc.h or verbs that has just failed: daemon_gone where errno says so (ECONNRESET, EPIPE); else the
// words of libmrc, or those of errno where it has none.
[[nodiscard]] std::string failure_reason();

} // namespace mrc::messaging
