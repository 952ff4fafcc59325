// SPDX-License-Identifier: Apache-2.0
// Files that are there whole or not at all: written under another name, and given theirs in one step once they are on
// the disk.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace mrc::kernel
{

// A new file of mode 0644, on the disk when this returns. What had the name is removed: it is a scratch name.
[[nodiscard]] std::error_code write_scratch(const std::string &path, std::string_view text);
// Puts the names in a file's folder on the disk. Without it a crash of the machine may leave the folder with the old
// name, which is right, or with neither, which is not.
[[nodiscard]] std::error_code sync_folder_of(const std::string &path);

} // namespace mrc::kernel
