// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/orderly_end.h"

#include <csignal>

namespace mrc::ctl
{

namespace
{

volatile std::sig_atomic_t ending = 0;

} // namespace

void end_by_signals()
{
    struct sigaction action{};
    action.sa_handler = [](int) { ending = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN); // an error of the write
}

bool is_to_end()
{
    return ending != 0;
}

} // namespace mrc::ctl
