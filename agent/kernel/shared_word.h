// SPDX-License-Identifier: Apache-2.0
// A word of a row that others write meanwhile, the kernel's programs or another thread or process of ours.
#pragma once

#include <atomic>

namespace mrc::kernel
{

// const_cast: before C++26 there is no atomic_ref to what is const. Only read.
template <typename Word>
[[nodiscard]] Word shared_word(const Word &of, std::memory_order order = std::memory_order_relaxed)
{
    return std::atomic_ref{const_cast<Word &>(of)}.load(order);
}

} // namespace mrc::kernel
