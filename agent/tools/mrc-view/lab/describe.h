// SPDX-License-Identifier: Apache-2.0
// Asks mrc-lab what a lab is.
#pragma once

#include <filesystem>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "tools/mrc-view/lab/description.h"

namespace mrc::view
{

// The lab of this name; empty: MRC_LAB, or the only one, as mrc-lab chooses. Throws std::runtime_error.
[[nodiscard]] boost::asio::awaitable<lab_description> describe_lab(std::filesystem::path mrc_lab, std::string prefix);

} // namespace mrc::view
