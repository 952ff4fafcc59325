// SPDX-License-Identifier: Apache-2.0
// What a shell may complete on the command line of a program. The shells' own files (scripts/packaging/completions)
// know none of its words: they ask `PROGRAM --complete WORD…`, which looks at what the program itself parses by.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

namespace mrc::completion
{

// The words behind the program's name up to the one that is being typed, which is the last and may be empty. A line for
// each word that could stand there: it, a tab, what it is. Empty: it is a value, or nothing is known to begin so.
[[nodiscard]] std::string completions_of(const CLI::App &app, std::span<const char *const> words);

// The answer to a command line that begins with --complete; nothing for any other, which is the program's to parse.
[[nodiscard]] std::optional<std::string> answer(const CLI::App &app, int argc, const char *const *argv);

} // namespace mrc::completion
