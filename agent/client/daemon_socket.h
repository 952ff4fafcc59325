// SPDX-License-Identifier: Apache-2.0
// Sockets to daemons: connecting, and what can be asked without a session. A daemon that is stopped still has its
// socket: everything here waits for so long only.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "client/daemon_channel.h"
#include "kernel/unique_fd.h"
#include "session/session_protocol.h"

namespace mrc::client
{

// Longer than a daemon under full load takes for an answer, by far. Who wants one daemon, to open its device or as
// it is the only one, waits longer than who asks several for a list: a machine that starves takes seconds now and then.
inline constexpr std::chrono::milliseconds answer_patience{3000};
inline constexpr std::chrono::milliseconds opening_patience{10000};

// Connected; each send and receive on it waits so long, 0: for ever. ETIMEDOUT when nobody accepts.
[[nodiscard]] result<kernel::unique_fd> connect_to(const daemon_instance &where, std::chrono::milliseconds patience);
void set_patience(const kernel::unique_fd &socket, std::chrono::milliseconds patience);

// What the hosts of those daemons are like, in the same order: all are asked at once, and the answers awaited for so
// long together. None becomes a client of its daemon for that. ETIMEDOUT: it does not answer.
[[nodiscard]] std::vector<result<host_description>> describe_instances(std::span<const daemon_instance> all,
                                                                       std::chrono::milliseconds patience);
// Of several each within answer_patience, of one within opening_patience.
[[nodiscard]] std::vector<result<host_description>> describe_instances(std::span<const daemon_instance> all);

[[nodiscard]] host_description description_of(const session::host_reply &host);

// Of errno, or of another.
[[nodiscard]] std::unexpected<session_error> failure(const std::string &what, int error);
[[nodiscard]] std::unexpected<session_error> failure(const std::string &what);

} // namespace mrc::client
