// SPDX-License-Identifier: Apache-2.0
#include "client/verbs/real_verbs.h"

#include <dlfcn.h>

namespace mrc::client
{

void *find_real_verb(const char *name, const char *version) noexcept
{
    // RTLD_NEXT would fail where libibverbs precedes us, and would make it a hard dependency. Never closed.
    static void *const library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return nullptr;
    return version == nullptr ? ::dlsym(library, name) : ::dlvsym(library, name, version);
}

} // namespace mrc::client
