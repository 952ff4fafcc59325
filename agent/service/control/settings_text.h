// SPDX-License-Identifier: Apache-2.0
// A controller's settings as TOML, and back. The last line is a checksum of all before it: a file that lost its end, or
// a part of it, is still TOML, and would restore half of what a controller had set.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "service/control/stored_settings.h"

namespace mrc::service::control
{

[[nodiscard]] std::string to_text(const stored_settings &settings);

// The error says what is wrong with the text, which `file` stands for.
[[nodiscard]] std::expected<stored_settings, std::string> parse_settings(std::string_view text,
                                                                         const std::string &file);

} // namespace mrc::service::control
