// SPDX-License-Identifier: Apache-2.0
#include "run_benchmarks.h"

#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

namespace
{

// A distribution's library is optimised, but has its assertions, and so calls itself a debug build and its timings
// doubtful. The loop that is timed is of the header, compiled with the benchmarks.
constexpr std::string_view untrue = "***WARNING*** Library was built as DEBUG";

// The library's own, without that line.
class console_reporter : public benchmark::ConsoleReporter
{
public:
    explicit console_reporter(const ConsoleReporter &options) : ConsoleReporter{options} {}

    bool ReportContext(const Context &context) override
    {
        std::ostream &errors = GetErrorStream();
        std::stringstream said;
        SetErrorStream(&said);
        const bool go_on = ConsoleReporter::ReportContext(context);
        SetErrorStream(&errors);
        for (std::string line; std::getline(said, line);)
            if (!line.starts_with(untrue))
                errors << line << '\n';
        return go_on;
    }
};

} // namespace

int run_benchmarks(int argc, char **argv)
{
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    std::unique_ptr<benchmark::BenchmarkReporter> reporter{benchmark::CreateDefaultDisplayReporter()};
    if (const auto *console = dynamic_cast<const benchmark::ConsoleReporter *>(reporter.get()); console != nullptr)
        reporter = std::make_unique<console_reporter>(*console);
    benchmark::RunSpecifiedBenchmarks(reporter.get());
    return 0;
}
