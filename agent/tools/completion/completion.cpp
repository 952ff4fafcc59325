// SPDX-License-Identifier: Apache-2.0
#include "tools/completion/completion.h"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace mrc::completion
{

namespace
{

constexpr std::string_view asking = "--complete";

bool has_positionals(const CLI::App &command)
{
    return !command.get_options([](const CLI::Option *each) { return each->get_positional(); }).empty();
}

bool takes_value(const CLI::App &command, const std::string &option)
{
    return !command
                .get_options([&option](const CLI::Option *each) {
                    return each->check_name(option) && each->get_items_expected_max() > 0;
                })
                .empty();
}

void add_line(std::string &lines, std::string_view begin, std::string_view name, std::string_view does)
{
    if (name.starts_with(begin))
        fmt::format_to(std::back_inserter(lines), "{}\t{}\n", name, does);
}

} // namespace

std::string completions_of(const CLI::App &app, std::span<const char *const> words)
{
    if (words.empty())
        return {};
    const CLI::App *at = &app;
    bool is_value = false; // the next word, of the option before it
    for (const std::string word : words.first(words.size() - 1)) {
        if (is_value) {
            is_value = false;
        } else if (word == "--") {
            return {};
        } else if (word.starts_with('-')) {
            is_value = takes_value(*at, word);
        } else {
            const auto named = at->get_subcommands([&word](const CLI::App *each) { return each->check_name(word); });
            at = named.empty() ? at : named.front();
        }
    }
    if (is_value)
        return {};

    const std::string_view begin = words.back();
    std::string lines;
    const auto inner = at->get_subcommands([](const CLI::App *) { return true; });
    for (const CLI::App *command : inner) {
        add_line(lines, begin, command->get_name(), command->get_description());
        for (const std::string &alias : command->get_aliases())
            add_line(lines, begin, alias, command->get_description());
    }
    // Options where they were asked for, or where nothing else can stand.
    if (begin.starts_with('-') || (inner.empty() && !has_positionals(*at)))
        for (const CLI::Option *option : at->get_options())
            for (const std::string &name : option->get_lnames())
                add_line(lines, begin, "--" + name, option->get_description());
    return lines;
}

std::optional<std::string> answer(const CLI::App &app, int argc, const char *const *argv)
{
    const std::span<const char *const> words{argv, static_cast<std::size_t>(argc)};
    if (words.size() < 2 || words[1] != asking)
        return std::nullopt;
    return completions_of(app, words.subspan(2));
}

} // namespace mrc::completion
