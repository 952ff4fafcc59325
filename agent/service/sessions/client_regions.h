// SPDX-License-Identifier: Apache-2.0
// A client's protection domains and its registered memory.
#pragma once

#include <cstdint>

#include "kernel/unique_fd.h"
#include "service/sessions/answer.h"
#include "service/sessions/session_state.h"

namespace mrc::service
{

answer allocate_pd(session_state &state);
answer deallocate_pd(session_state &state, std::uint32_t number);

// `file` is taken when it is the memory; what is not taken stays there.
answer register_memory(session_state &state, const session::memory_request &request, kernel::unique_fd &file);
answer deregister_memory(session_state &state, std::uint32_t key);
// At the session's end, after its queue pairs.
void release_regions(session_state &state);

} // namespace mrc::service
