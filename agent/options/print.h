// SPDX-License-Identifier: Apache-2.0
// The configuration in force.
#pragma once

#include <functional>
#include <string>

#include "options/origins.h"
#include "options/table.h"

namespace mrc::options
{

// As TOML that reads the same, each line with the origin of its value as a comment. Tables stand one deep.
// Of the options that are `shown`, by name: "fabric.planes", "port[1].device".
[[nodiscard]] std::string print(const table &schema, const origins &from, const void *root,
                                const std::function<bool(const std::string &name)> &shown = {});

// The same without the comments, for files that a program writes for itself.
[[nodiscard]] std::string print(const table &schema, const void *root);

} // namespace mrc::options
