// SPDX-License-Identifier: Apache-2.0
// mrc-collectives: Gloo's collectives over MRC, or over its own TCP, by size. See docs/mrc-collectives.1.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/mrc-collectives/group.h"
#include "tools/mrc-collectives/measure.h"
#include "tools/mrc-collectives/options.h"
#include "tools/mrc-collectives/report.h"

namespace
{

using namespace mrc::collectives;

void show(const collective_times &one, const collectives_options &chosen, std::size_t done)
{
    if (!chosen.json) {
        fmt::print("{}", table_line(one, chosen));
        std::fflush(stdout);
        return;
    }
    fmt::print(stderr, "{} of {}: {}", done, chosen.operations.size() * chosen.sizes.size(), table_line(one, chosen));
}

void run(const collectives_options &chosen)
{
    const bool reports = chosen.rank == 0;
    const group all{chosen};
    buffers memory;
    std::vector<collective_times> found;
    if (reports && !chosen.json)
        fmt::print("{}", table_head(chosen));
    for (const collective what : chosen.operations)
        for (const std::uint64_t bytes : chosen.sizes) {
            found.push_back(measure(what, bytes, chosen, all, memory));
            if (reports)
                show(found.back(), chosen, found.size());
        }
    all.barrier(); // nobody leaves while somebody waits for it
    if (reports && chosen.json)
        fmt::print("{}", json_text(found, chosen));
}

// Gloo's failures begin with where in its source they were noticed, and some have lines of a stack behind them.
std::string first_line(const std::string &text)
{
    return text.substr(0, text.find('\n'));
}

} // namespace

int main(int argc, char **argv)
{
    const parsed_line parsed = parse_command_line(argc, argv);
    if (parsed.exit_status)
        return *parsed.exit_status;
    try {
        run(parsed.chosen);
        return EXIT_SUCCESS;
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrc-collectives: rank {}: {}\n", parsed.chosen.rank, first_line(error.what()));
        return EXIT_FAILURE;
    }
}
