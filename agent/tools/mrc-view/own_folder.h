// SPDX-License-Identifier: Apache-2.0
// Where this program lies: what belongs to it is found from there.
#pragma once

#include <filesystem>

namespace mrc::view
{

// build/bin of a tree, or sbin below a prefix.
[[nodiscard]] inline std::filesystem::path own_folder()
{
    std::error_code none;
    return std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
}

} // namespace mrc::view
