// SPDX-License-Identifier: Apache-2.0
// The daemon inside this process: MRC_EMBEDDED, docs/embedded.md.
#pragma once

#include "session/embedded_worker.h"

namespace mrc::client
{

// Starts it with the first call, where the environment asks for it; null where it does not, or where it cannot be
// started. Whoever runs the program is told why on standard error, once: nothing that the API returns has room for it,
// and without it the program would go on with another daemon, or with none.
[[nodiscard]] const session::embedded_worker *embedded_daemon();

// Whether the environment asks for one. A program of raised privileges is not asked.
[[nodiscard]] bool embedding_wanted();

} // namespace mrc::client
