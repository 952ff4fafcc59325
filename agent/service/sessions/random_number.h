// SPDX-License-Identifier: Apache-2.0
// For keys, QPNs and PSNs, which nobody may guess.
#pragma once

#include <cstdint>

#include <sys/random.h>
#include <sys/types.h>

namespace mrc::service
{

[[nodiscard]] inline std::uint32_t random_number()
{
    std::uint32_t number = 0;
    [[maybe_unused]] const ssize_t got = ::getrandom(&number, sizeof(number), 0); // up to 256 bytes are never cut short
    return number;
}

} // namespace mrc::service
