// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/lab/describe.h"

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tools/mrc-view/lab/command.h"

namespace mrc::view
{

namespace
{

constexpr std::chrono::seconds longest_status{30};

std::vector<std::string> status_arguments(const std::string &prefix)
{
    std::vector<std::string> arguments{"status", "--json"};
    if (!prefix.empty())
        arguments.insert(arguments.end(), {"--prefix", prefix});
    return arguments;
}

} // namespace

boost::asio::awaitable<lab_description> describe_lab(std::filesystem::path mrc_lab, std::string prefix)
{
    const lab_outcome outcome = co_await run_lab(std::move(mrc_lab), status_arguments(prefix), longest_status);
    if (!outcome.done)
        throw std::runtime_error{outcome.problem};
    co_return parse_lab(outcome.output);
}

} // namespace mrc::view
