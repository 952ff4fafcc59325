// SPDX-License-Identifier: Apache-2.0
// The host's own libibverbs, for the objects of real RDMA devices. It is looked for when first needed, and may be
// absent; then no such object exists either.
#pragma once

#include <atomic>
#include <cerrno>
#include <type_traits>

#include <infiniband/verbs.h>

namespace mrc::client
{

// nullptr when there is no such library or symbol. version nullptr: the default one.
[[nodiscard]] void *find_real_verb(const char *name, const char *version) noexcept;

// What a function of the interface (`Shim`, which bears its name and version in libmrc) is in libibverbs.
template <auto *Shim>
struct real_verb;

template <typename Result, typename... Arguments, Result (*Shim)(Arguments...)>
struct real_verb<Shim> {
    using function = Result(Arguments...);
    using answer = std::conditional_t<std::is_void_v<Result>, int, Result>;

    [[nodiscard]] static function *find(const char *name, const char *version) noexcept
    {
        function *known = found.load(std::memory_order_acquire);
        if (known == nullptr) {
            known = reinterpret_cast<function *>(find_real_verb(name, version));
            found.store(known, std::memory_order_release);
        }
        return known;
    }

    // `absent` with ENOSYS when libibverbs is older than the function.
    static Result call(const char *name, const char *version, answer absent, Arguments... arguments)
    {
        if (function *real = find(name, version))
            return real(arguments...);
        errno = ENOSYS;
        return absent;
    }

    static inline std::atomic<function *> found = nullptr;
};

} // namespace mrc::client

// How a function is offered: as a hidden version of the symbol that libibverbs has under the same version, so that
// programs record libibverbs as the provider, and find ours first because it comes first in their scope.
// clang (clang-tidy) does not know the attribute; g++ builds the library.
#if defined(__clang__)
#define MRC_OFFER(name, node) __attribute__((visibility("default")))
#else
#define MRC_OFFER(name, node) __attribute__((visibility("default"), symver(name "@IBVERBS_" node)))
#endif
