// SPDX-License-Identifier: Apache-2.0
// What the daemon answers to one request of a client.
#pragma once

#include <string>
#include <vector>

#include "session/session_protocol.h"

namespace mrc::service
{

struct answer {
    session::session_reply reply;
    std::vector<int> fds; // passed beside it; borrowed
};

// With an errno value; longer text is cut to what a reply has room for.
[[nodiscard]] inline answer refuse(int error, const std::string &text)
{
    answer refusal;
    refusal.reply.error = error;
    text.copy(refusal.reply.text, sizeof(refusal.reply.text) - 1);
    return refusal;
}

} // namespace mrc::service
