// SPDX-License-Identifier: Apache-2.0
// A fuzzer's input, read as numbers; past its end all are 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mrc::fuzz
{

class fuzz_input
{
public:
    explicit fuzz_input(std::span<const std::uint8_t> bytes) : bytes_{bytes} {}

    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    std::uint8_t byte()
    {
        if (bytes_.empty())
            return 0;
        const std::uint8_t first = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return first;
    }
    std::uint16_t word() { return static_cast<std::uint16_t>(byte() << 8 | byte()); }
    std::uint32_t number() { return std::uint32_t{word()} << 16 | word(); }
    std::uint64_t large() { return std::uint64_t{number()} << 32 | number(); }
    // 0 … bound - 1
    std::uint32_t below(std::uint32_t bound) { return byte() % bound; }
    // Up to `most` as they are.
    std::span<const std::uint8_t> bytes(std::size_t most)
    {
        const auto taken = bytes_.first(std::min(most, bytes_.size()));
        bytes_ = bytes_.subspan(taken.size());
        return taken;
    }
    bool flag() { return (byte() & 1u) != 0; }

private:
    std::span<const std::uint8_t> bytes_;
};

} // namespace mrc::fuzz
