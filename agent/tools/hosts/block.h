// SPDX-License-Identifier: Apache-2.0
// A block of lines in a hosts file that mrcctl keeps, one for each instance, between two lines of its own. What stands
// outside of it is never changed, byte for byte, and the file is as it was when the block is gone.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/host_names.h"

namespace mrc::tools
{

struct block_change {
    std::string text;                  // of the whole file
    std::vector<std::string> left_out; // hosts whose names stand in the file already, of another address
    std::size_t written = 0;
    bool file_is_ours = false; // nothing is left of a file that only the block had made
};

// The file's text with this block instead of the instance's earlier one. `is_new`: there is no file yet. The error: the
// earlier block has no end.
[[nodiscard]] std::expected<block_change, std::string>
with_block(std::string_view text, bool is_new, const std::string &instance, std::span<const session::named_host> hosts);
// Without it.
[[nodiscard]] std::expected<block_change, std::string> without_block(std::string_view text,
                                                                     const std::string &instance);

// Both on a file, in one step; a link is followed. Returns what is to be said. Throws std::runtime_error, which names
// the file.
[[nodiscard]] std::vector<std::string> write_block(const std::string &file, const std::string &instance,
                                                   std::span<const session::named_host> hosts);
[[nodiscard]] std::vector<std::string> remove_block(const std::string &file, const std::string &instance);

} // namespace mrc::tools
