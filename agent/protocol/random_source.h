// SPDX-License-Identifier: Apache-2.0
// Seeded pseudo-random numbers (splitmix64, public domain by S. Vigna): rotation orders and entropy, nothing secret.
#pragma once

#include <cstdint>

namespace mrc::protocol
{

class random_source
{
public:
    explicit constexpr random_source(std::uint64_t seed) : state_{seed} {}

    [[nodiscard]] constexpr std::uint64_t next()
    {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }

    // 0 … bound - 1, by multiplication (Lemire): the bias of 2^-32 * bound does not matter for rotations.
    [[nodiscard]] constexpr std::uint32_t below(std::uint32_t bound)
    {
        return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
    }

private:
    std::uint64_t state_;
};

} // namespace mrc::protocol
