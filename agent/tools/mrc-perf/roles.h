// SPDX-License-Identifier: Apache-2.0
// The two roles of mrc-perf. Both return an exit status, and throw perf_error when they cannot begin.
#pragma once

#include "tools/mrc-perf/options.h"
#include "tools/mrc-perf/signals.h"

namespace mrc::perf
{

// Runs one test against the server and prints its report.
int run_client(const options &chosen, signal_source &signals);
// Serves clients one after the other until a signal to itself, or one with --once.
int run_server(const options &chosen, signal_source &signals);

} // namespace mrc::perf
