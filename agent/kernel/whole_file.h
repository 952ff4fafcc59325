// SPDX-License-Identifier: Apache-2.0
// A file that is there whole or not at all: a new one takes the place of the old in one step, when it is on the disk.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <system_error>

namespace mrc::kernel
{

// `scratch` is a name in the same folder that is this writer's alone: what stands there is removed first, and is gone
// afterwards unless the writer is killed. The file is readable by all, whatever the umask. A link at `path` is
// replaced, not followed. What fails leaves the old file as it was, with the error of the call that failed;
// but where only the folder could not be put on the disk the new file stands.
[[nodiscard]] std::expected<void, std::error_code> replace_file(const std::string &path, const std::string &scratch,
                                                                std::string_view text);
// The same where there is none yet: EEXIST otherwise.
[[nodiscard]] std::expected<void, std::error_code> create_file(const std::string &path, const std::string &scratch,
                                                               std::string_view text);

} // namespace mrc::kernel
