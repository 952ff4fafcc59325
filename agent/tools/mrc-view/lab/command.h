// SPDX-License-Identifier: Apache-2.0
// Runs mrc-lab beside everything else, within a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

namespace mrc::view
{

struct lab_outcome {
    bool done = false;
    std::string output{};
    std::string problem{}; // one line: what mrc-lab said, or why it could not be run
};

// In the tree that this program was built in, or installed beside it; else found by PATH.
[[nodiscard]] std::filesystem::path find_mrc_lab();

// It is killed when it takes longer.
[[nodiscard]] boost::asio::awaitable<lab_outcome>
run_lab(std::filesystem::path program, std::vector<std::string> arguments, std::chrono::seconds within);

} // namespace mrc::view
