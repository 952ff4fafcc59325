// SPDX-License-Identifier: Apache-2.0
// What the commands of mrcctl have in common on the command line.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "tools/mrcctl/commands.h"
#include "tools/mrcctl/ev_notation.h"
#include "tools/mrcctl/process.h"

namespace mrc::ctl
{

inline constexpr double longest_s = 86400; // of all times that options take

// A command that needs nothing more: it takes -j and --instance behind its name.
CLI::App *add_command(CLI::App &to, const char *name, const char *does, invocation &chosen);
CLI::App &add_object(CLI::App &to, const char *name, const char *is);

// Of a daemon that does not run, a line on standard error, beside what its maps say.
inline void tell_if_not_running(const host_maps &maps)
{
    if (const std::string remark = state_remark(maps.of().name, look_at_daemon(maps.host())); !remark.empty())
        fmt::print(stderr, "mrcctl: {}\n", remark);
}

// What a command of the controller has to show, and whether everything was done.
template <typename View>
struct outcome_of {
    View view;
    bool whole = true;
};

// act(device) gives an outcome_of, say(view) makes it readable.
template <typename Act, typename Say>
void control_with(CLI::App *command, invocation &chosen, const Act &act, Say say)
{
    command->callback([&chosen, act, say] {
        chosen.control = [&chosen, act, say](const controller_device &device) {
            const auto outcome = act(device);
            fmt::print("{}", chosen.json ? boost::json::serialize(outcome.view) + '\n' : say(outcome.view));
            return outcome.whole ? 0 : 1;
        };
    });
}

// A text that parse() takes.
template <typename Parse>
CLI::Validator understood_by(Parse parse)
{
    return CLI::Validator{[parse](const std::string &text) {
                              const auto value = parse(text);
                              return value ? std::string{} : value.error();
                          },
                          ""};
}

// One of these names. set(value) is called with what it means.
template <typename T, std::size_t Count, typename Set>
CLI::Option *add_choice(CLI::App *command, const char *option, const std::array<named_value<T>, Count> &names,
                        const Set &set, const char *does)
{
    std::vector<std::string> allowed;
    allowed.reserve(Count);
    for (const auto &one : names)
        allowed.emplace_back(one.name);
    const auto place = std::make_shared<std::string>();
    return command->add_option(option, *place, does)
        ->check(CLI::IsMember(allowed))
        ->each([&names, set, place](const std::string &text) {
            set(std::ranges::find(names, std::string_view{text}, &named_value<T>::name)->value);
        });
}

} // namespace mrc::ctl
