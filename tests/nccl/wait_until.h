// SPDX-License-Identifier: Apache-2.0
// How a rank waits.
#pragma once

#include <chrono>
#include <thread>

namespace mrc::nccl_test
{

// Looks again and yields, as NCCL's proxy thread when it is idle. What has not come after many looks takes seconds, as
// an end that does not answer: the processor goes to others meanwhile.
template <typename Condition>
void until(Condition condition)
{
    constexpr int many_looks = 10'000;
    for (int looks = 0; !condition(); ++looks) {
        if (looks < many_looks)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
}

} // namespace mrc::nccl_test
