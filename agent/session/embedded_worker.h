// SPDX-License-Identifier: Apache-2.0
// Between libmrc and libmrc-embedded.so, which it loads into a program that runs the daemon inside itself
// (MRC_EMBEDDED, docs/embedded.md): how threads of the program make the worker's rounds. Both come from one build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

#include <poll.h>

namespace mrc::session
{

// What a thread of the program makes rounds for.
enum class round_for : std::uint32_t {
    post, // it has posted, or is about to sleep
    poll, // it looks for completions, and has found none
    spin, // the same, again and again: the worker's own thread leaves the next ones to it, too
};

struct embedded_worker {
    const char *version;  // MRC_VERSION of the library
    const char *instance; // the daemon's
    const char *socket;   // where it answers, this program as any other
    // Makes the rounds that are due, unless another thread makes them just now: whether it did.
    bool (*round)(round_for what) noexcept;
    // As ppoll() without a signal mask; makes rounds meanwhile, and sleeps between them.
    int (*poll)(pollfd *descriptors, nfds_t count, const timespec *limit) noexcept;
    // The caller is going to wait for something else: the worker's own thread makes the rounds at once.
    void (*hand_over)() noexcept;
};

// What libmrc-embedded.so exports as "mrc_embedded_start": starts the daemon with this configuration, once for each
// process. Null, and words in `error`, where that cannot be.
using start_embedded = const embedded_worker *(*)(const char *configuration, char *error, std::size_t error_bytes);

} // namespace mrc::session
