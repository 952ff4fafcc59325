// SPDX-License-Identifier: Apache-2.0
// What became of trying something on this host: it worked, the kernel refused it, or it was not tried and why.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace mrc::kernel::probes
{

struct attempt {
    enum class outcome : std::uint8_t { worked, refused, untried };

    outcome result = outcome::untried;
    int error = 0;      // errno of a refusal; 0: the detail says all
    std::string detail; // the kernel's own words, a figure, or why it was not tried

    [[nodiscard]] bool worked() const { return result == outcome::worked; }
    [[nodiscard]] bool refused() const { return result == outcome::refused; }
    // For people: "Operation not supported: driver has no native XDP".
    [[nodiscard]] std::string text() const
    {
        if (!refused() || error == 0)
            return detail;
        return std::strerror(error) + (detail.empty() ? std::string{} : ": " + detail);
    }
};

[[nodiscard]] inline attempt worked(std::string detail = {})
{
    return {.result = attempt::outcome::worked, .error = 0, .detail = std::move(detail)};
}
[[nodiscard]] inline attempt refused(int error, std::string detail = {})
{
    return {.result = attempt::outcome::refused, .error = error, .detail = std::move(detail)};
}
[[nodiscard]] inline attempt untried(std::string why)
{
    return {.result = attempt::outcome::untried, .error = 0, .detail = std::move(why)};
}

} // namespace mrc::kernel::probes
