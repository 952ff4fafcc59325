// SPDX-License-Identifier: Apache-2.0
// What a page may order done to a lab, and the mrc-lab command that does it.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "tools/mrc-view/lab/description.h"

namespace mrc::view
{

// The arguments of mrc-lab for an order of this JSON text:
//
//   {"do": "cut" | "restore", "plane": 1}
//   {"do": "cut" | "restore", "a": "h0", "b": "p0t0-0"}
//   {"do": "impair", "a": …, "b": …, "loss": 5}      percent, from A to B and back; 0 ends all impairments
//
// Planes and links are those of the lab. The error says what is allowed.
[[nodiscard]] std::expected<std::vector<std::string>, std::string> arguments_of(const std::string &order,
                                                                                const lab_description &lab);

} // namespace mrc::view
