// SPDX-License-Identifier: Apache-2.0
#include "kernel/memory_policy.h"

#include <array>
#include <climits>
#include <cstddef>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrc::kernel
{

bool prefer_memory_of(int node)
{
    constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;
    std::array<unsigned long, 1024 / word_bits> nodes{}; // as many as any kernel has
    const auto number = static_cast<std::size_t>(node);
    int mode = MPOL_DEFAULT;
    if (node < 0 || number >= nodes.size() * word_bits ||
        ::syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) != 0 || mode != MPOL_DEFAULT)
        return false;
    nodes[number / word_bits] |= 1UL << number % word_bits;
    return ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes.data(), nodes.size() * word_bits) == 0;
}

} // namespace mrc::kernel
