// SPDX-License-Identifier: Apache-2.0
// `mrcd --init`: the set-up of a host on which nobody sits.
#pragma once

#include <string>

namespace mrc::setup
{

// Writes this file as `mrcctl setup --yes` does, unless it has settings already: then it only checks that mrcd takes
// it, and puts its addresses on the ports. Returns the exit status. Throws std::runtime_error with what hinders it.
[[nodiscard]] int run_init(const std::string &file);

// What to type where a daemon finds no configuration; empty: the file has settings, or cannot be read.
[[nodiscard]] std::string first_step(const std::string &file);

} // namespace mrc::setup
