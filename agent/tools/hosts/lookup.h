// SPDX-License-Identifier: Apache-2.0
// What an argument of a tool that names a peer means.
#pragma once

#include <expected>
#include <optional>
#include <string>

namespace mrc::tools
{

// Instances as the tools choose them: the option's value, else MRC_INSTANCE; empty: all that run here.
[[nodiscard]] std::string instances_meant(const std::string &given);

// The address of a peer of this name; nullopt: no instance knows one. The error says that several do.
[[nodiscard]] std::expected<std::optional<std::string>, std::string> address_of_name(const std::string &name,
                                                                                     const std::string &instances);

// An address as it stands, or that of a peer's name. The error says what is allowed.
[[nodiscard]] std::expected<std::string, std::string> address_of_peer(const std::string &peer,
                                                                      const std::string &instances);

} // namespace mrc::tools
