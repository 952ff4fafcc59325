// SPDX-License-Identifier: Apache-2.0
// Why a run of mrc-perf ends early: one line for the user, and a word for scripts.
#pragma once

#include <stdexcept>
#include <string>

namespace mrc::perf
{

class perf_error : public std::runtime_error
{
public:
    explicit perf_error(const std::string &text, std::string status = "failed")
        : std::runtime_error{text}, status_{std::move(status)}
    {
    }
    // The report's `status`: failed, mismatch, far_end, daemon_gone, or a completion status such as retry_exceeded.
    [[nodiscard]] const std::string &status() const { return status_; }

private:
    std::string status_;
};

} // namespace mrc::perf
