// SPDX-License-Identifier: Apache-2.0
#include "client/session_source.h"

namespace mrc::client
{

namespace
{

constinit session_source chosen;

} // namespace

session_source current_session_source()
{
    return chosen;
}

void replace_session_source(const session_source &other)
{
    chosen = other;
}

} // namespace mrc::client
