// SPDX-License-Identifier: Apache-2.0
// The command line of mrc-view.
#pragma once

#include <optional>
#include <string>

namespace mrc::view
{

struct view_options {
    std::string instance{}; // empty: MRC_INSTANCE, or the only one
    bool is_lab = false;
    std::string lab{}; // empty: MRC_LAB, or the only one
    std::string listen = "9102";
};

// The exit status when nothing is left to do: --help, --version, completions for a shell, or a wrong command line (2,
// told on standard error).
[[nodiscard]] std::optional<int> parse_options(int argc, char **argv, view_options &to);

} // namespace mrc::view
