// SPDX-License-Identifier: Apache-2.0
// The file that a controller's settings outlive the daemon in. It is there whole or not at all: a new one takes the
// place of the old in one step, when it is on the disk.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mrc::service::control
{

class settings_file
{
public:
    // In this folder, which somebody else makes.
    explicit settings_file(const std::string &folder) : path_{folder + "/controller.toml"} {}

    [[nodiscard]] const std::string &path() const { return path_; }
    // Nothing when there is none.
    [[nodiscard]] std::expected<std::optional<std::string>, std::error_code> read();
    // Does nothing when this is what was read or written last.
    [[nodiscard]] std::expected<void, std::error_code> write(std::string_view text);
    // Out of the way, for somebody to look at: to this name, which it takes from one that was refused before.
    [[nodiscard]] std::string refused_path() const { return path_ + ".refused"; }
    [[nodiscard]] std::expected<void, std::error_code> set_aside();

private:
    std::string path_;
    std::string last_; // as it stands in the file, as far as this process knows
};

} // namespace mrc::service::control
