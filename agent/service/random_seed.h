// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <sys/random.h>

namespace mrc::service
{

[[nodiscard]] inline std::uint64_t random_seed()
{
    std::uint64_t seed = 0;
    [[maybe_unused]] const ssize_t got = ::getrandom(&seed, sizeof(seed), 0); // 8 bytes are never cut short
    return seed;
}

} // namespace mrc::service
