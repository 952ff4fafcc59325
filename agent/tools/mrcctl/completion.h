// SPDX-License-Identifier: Apache-2.0
// What a shell may complete on a command line of mrcctl. The shells' own files (scripts/packaging/completions) know
// none of its words: they ask `mrcctl complete WORD…`, which looks at the commands that mrcctl itself parses by.
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>

namespace mrc::ctl
{

// The words behind `mrcctl` up to the one that is being typed, which is the last and may be empty. A line for each word
// that could stand there: it, a tab, what it is. Empty: it is a value, or nothing is known that begins like this.
[[nodiscard]] std::string completions_of(const CLI::App &app, std::span<const char *const> words);

} // namespace mrc::ctl
