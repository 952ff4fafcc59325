// SPDX-License-Identifier: Apache-2.0
// Whether the host has the memory that AF_XDP sockets need: by taking it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/probes/attempt.h"

namespace mrc::kernel::probes
{

inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

// Maps so many bytes, a multiple of huge_page_bytes, in huge pages.
[[nodiscard]] attempt try_huge_pages(std::size_t bytes);
// Registers so many bytes, a multiple of 4096, as packet memory, which the kernel locks.
[[nodiscard]] attempt try_locked_memory(std::size_t bytes);
// Huge pages that the system has, in use or not; what vm.nr_hugepages shows.
[[nodiscard]] std::uint64_t configured_huge_pages();

} // namespace mrc::kernel::probes
