// SPDX-License-Identifier: Apache-2.0
#include "messaging/failure.h"

#include <cerrno>
#include <cstring>

#include "mrc/control.h"

namespace mrc::messaging
{

std::string failure_reason()
{
    const int code = errno;
    const char *words = ::mrc_failure_text();
    return *words != '\0' ? words : std::strerror(code);
}

} // namespace mrc::messaging
