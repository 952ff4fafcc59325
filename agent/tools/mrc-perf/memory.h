// SPDX-License-Identifier: Apache-2.0
// Registered memory of a run, of either kind that the daemon copies in its own way (--memory).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "tools/mrc-perf/device.h"
#include "tools/mrc-perf/options.h"

namespace mrc::perf
{

class registered_memory
{
public:
    registered_memory() = default; // none
    // Filled with `content`, so that its pages are there before the clock runs.
    registered_memory(const mrc_device &on, memory_kind kind, std::uint64_t bytes, std::byte content);

    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), length_}; }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(memory_.get()); }
    [[nodiscard]] std::uint32_t lkey() const { return region_ ? region_->lkey : 0; }
    [[nodiscard]] std::uint32_t rkey() const { return region_ ? region_->rkey : 0; }

private:
    std::unique_ptr<std::byte, void (*)(void *)> memory_{nullptr, nullptr};
    std::size_t length_ = 0;
    std::unique_ptr<ibv_mr, released_by<&::ibv_dereg_mr>> region_;
};

} // namespace mrc::perf
