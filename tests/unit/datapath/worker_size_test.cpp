// SPDX-License-Identifier: Apache-2.0
// What a connected queue pair occupies in mrcd, in bytes of the heap: all that malloc hands out for it.
#include <cstdio>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>
#include <malloc.h>

#include "service/sessions/session_state.h"
#include "unit/datapath/worker_in_memory.h"

namespace
{

std::size_t live_bytes = 0;

} // namespace

// Not inlined: the compiler would see malloc beside delete, and free beside new. The pool's blocks, which are
// aligned, do not count.
[[gnu::noinline]] void *operator new(std::size_t bytes)
{
    void *memory = std::malloc(bytes);
    if (memory == nullptr)
        throw std::bad_alloc{};
    live_bytes += malloc_usable_size(memory);
    return memory;
}

[[gnu::noinline]] void operator delete(void *memory) noexcept
{
    live_bytes -= malloc_usable_size(memory);
    std::free(memory);
}

[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept
{
    operator delete(memory); // NOLINT(clang-analyzer-cplusplus.NewDelete): which frees it, not its caller
}

namespace mrc::datapath
{
namespace
{

constexpr std::size_t most_bytes = 4096;
constexpr std::uint32_t first_qp = 16;
constexpr std::uint32_t count = 1000;
// Of the service thread, which keeps them in a std::map.
constexpr std::size_t service_bytes = sizeof(std::pair<const std::uint32_t, service::owned_qp>) + 48;

TEST(worker_size, connected_queue_pair_is_4_kb)
{
    test::worker_surroundings around;
    test::remote_host host{1};
    test::rings_in_memory rings{128};
    worker all{{}, around.resources()};
    auto made = test::client_in_memory(1);
    worker_client &client = *made;
    client.active.reserve(count);
    all.add_client(std::move(made));
    all.add_peer(host.peer());

    (void)test::no_regions(); // made when first asked for
    const std::size_t before = live_bytes;
    for (std::uint32_t n = 0; n < count; ++n)
        all.add_qp(rings.connect(client, first_qp + n, host, &all.memory()));
    const std::size_t each = (live_bytes - before) / count;
    std::printf("worker: %zu bytes, service: %zu\n", each, service_bytes);
    EXPECT_EQ(all.memory().lent_bytes(), 0u);
    EXPECT_LE(each + service_bytes, most_bytes);

    for (std::uint32_t n = 0; n < count; ++n)
        (void)all.remove_qp(protocol::qpn{first_qp + n});
    EXPECT_EQ(all.memory().lent_bytes(), 0u);
}

} // namespace
} // namespace mrc::datapath
