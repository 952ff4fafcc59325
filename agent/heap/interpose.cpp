// SPDX-License-Identifier: Apache-2.0
// libmrc-heap.so, for LD_PRELOAD: blocks of 32 KiB and more come from memory that libmrc shares with the daemon; all
// others, and those where there is no more of that, from the C library.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <pthread.h>

#include "heap/shared_blocks.h"
#include "mrc/memory.h"

#define MRC_HEAP_EXPORT extern "C" __attribute__((visibility("default")))

// The C library's own, by names that nothing interposes.
extern "C" {
void *__libc_malloc(std::size_t bytes);                          // NOLINT(bugprone-reserved-identifier)
void *__libc_calloc(std::size_t count, std::size_t bytes);       // NOLINT(bugprone-reserved-identifier)
void *__libc_realloc(void *block, std::size_t bytes);            // NOLINT(bugprone-reserved-identifier)
void *__libc_memalign(std::size_t alignment, std::size_t bytes); // NOLINT(bugprone-reserved-identifier)
void __libc_free(void *block);                                   // NOLINT(bugprone-reserved-identifier)
}

namespace
{

using mrc::heap::shared_blocks;

constexpr std::size_t shared_from = 32 << 10;

// Used before and after all other static objects.
alignas(shared_blocks) std::byte blocks_place[sizeof(shared_blocks)];
shared_blocks &blocks()
{
    static auto *all = new (blocks_place) shared_blocks{&mrc_alloc_shared};
    return *all;
}

[[maybe_unused]] const int copies_at_forks = ::pthread_atfork(
    [] { blocks().before_fork(); }, [] { blocks().after_fork_in_parent(); }, [] { blocks().after_fork_in_child(); });

// Null where the C library is to give it.
void *shared(std::size_t bytes, std::size_t alignment = shared_blocks::page)
{
    return bytes < shared_from ? nullptr : blocks().allocate(bytes, alignment);
}

void *aligned(std::size_t alignment, std::size_t bytes)
{
    void *block = std::has_single_bit(alignment) ? shared(bytes, alignment) : nullptr;
    return block == nullptr ? __libc_memalign(alignment, bytes) : block;
}

std::size_t capacity(void *block)
{
    using function = std::size_t(void *);
    static auto *of_libc = reinterpret_cast<function *>(::dlsym(RTLD_NEXT, "malloc_usable_size"));
    return blocks().owns(block) ? blocks().capacity(block) : of_libc(block);
}

} // namespace

MRC_HEAP_EXPORT void *malloc(std::size_t bytes)
{
    void *block = shared(bytes);
    return block == nullptr ? __libc_malloc(bytes) : block;
}

MRC_HEAP_EXPORT void free(void *block)
{
    if (block == nullptr || !blocks().owns(block))
        return __libc_free(block);
    const int before = errno;
    blocks().free(block);
    errno = before;
}

MRC_HEAP_EXPORT void *calloc(std::size_t count, std::size_t bytes)
{
    std::size_t whole = 0;
    void *block = __builtin_mul_overflow(count, bytes, &whole) ? nullptr : shared(whole);
    return block == nullptr ? __libc_calloc(count, bytes) : std::memset(block, 0, whole);
}

MRC_HEAP_EXPORT void *realloc(void *block, std::size_t bytes)
{
    if (block == nullptr)
        return malloc(bytes);
    const bool was_shared = blocks().owns(block);
    if (!was_shared && bytes < shared_from)
        return __libc_realloc(block, bytes);
    if (bytes == 0) {
        free(block);
        return nullptr;
    }
    const std::size_t has = capacity(block);
    if (was_shared && bytes <= has && bytes >= has / 2)
        return block;
    void *moved = malloc(bytes);
    if (moved == nullptr)
        return nullptr;
    std::memcpy(moved, block, std::min(has, bytes));
    free(block);
    return moved;
}

MRC_HEAP_EXPORT void *reallocarray(void *block, std::size_t count, std::size_t bytes)
{
    std::size_t whole = 0;
    if (__builtin_mul_overflow(count, bytes, &whole)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(block, whole);
}

MRC_HEAP_EXPORT void *memalign(std::size_t alignment, std::size_t bytes)
{
    return aligned(alignment, bytes);
}

MRC_HEAP_EXPORT void *aligned_alloc(std::size_t alignment, std::size_t bytes)
{
    return aligned(alignment, bytes);
}

MRC_HEAP_EXPORT void *valloc(std::size_t bytes)
{
    return aligned(shared_blocks::page, bytes);
}

MRC_HEAP_EXPORT void *pvalloc(std::size_t bytes)
{
    const std::size_t whole = bytes / shared_blocks::page * shared_blocks::page;
    const std::size_t rest = bytes == whole ? 0 : shared_blocks::page;
    return aligned(shared_blocks::page, whole > PTRDIFF_MAX ? bytes : whole + rest);
}

MRC_HEAP_EXPORT int posix_memalign(void **block, std::size_t alignment, std::size_t bytes)
{
    if (!std::has_single_bit(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    const int before = errno;
    void *made = aligned(alignment, bytes);
    errno = before;
    if (made == nullptr)
        return ENOMEM;
    *block = made;
    return 0;
}

MRC_HEAP_EXPORT std::size_t malloc_usable_size(void *block)
{
    return block == nullptr ? 0 : capacity(block);
}
