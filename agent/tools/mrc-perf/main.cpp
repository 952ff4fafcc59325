// SPDX-License-Identifier: Apache-2.0
// mrc-perf: throughput, latency and integrity between two hosts that run mrcd. See docs/mrc-perf.1.
#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include "tools/mrc-perf/options.h"
#include "tools/mrc-perf/roles.h"
#include "tools/mrc-perf/signals.h"

int main(int argc, char **argv)
{
    using namespace mrc::perf;
    const command_line parsed = parse_command_line(argc, argv);
    if (parsed.exit_status)
        return *parsed.exit_status;
    try {
        signal_source signals;
        return parsed.chosen.host.empty() ? run_server(parsed.chosen, signals) : run_client(parsed.chosen, signals);
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrc-perf: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
