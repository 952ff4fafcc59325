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
    if (code == ECONNRESET || code == EPIPE)
        return daemon_gone;
    const char *words = ::mrc_failure_text();
    return *words != '\0' ? words : std::strerror(code);
}

} // namespace mrc::messaging
