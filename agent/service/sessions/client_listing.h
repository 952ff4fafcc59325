// SPDX-License-Identifier: Apache-2.0
// A client's row in map `clients`: who it is, and what it has. Operators read it, and nothing else does. It comes and
// goes with an event of the session.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "kernel/host_tables.h"
#include "mrc/abi/maps.h"
#include "service/transition_log.h"

namespace mrc::service
{

// The row of a client that has just said hello and has nothing.
[[nodiscard]] mrc_client_row row_of_client(pid_t process, uid_t user);

// What a client has, as its row tells it.
struct client_holdings {
    std::uint32_t queue_pairs = 0;
    std::uint64_t registered_bytes = 0;
    std::uint64_t shared_bytes = 0;
};

// The row is there as long as this object is. When the map has none to spare, the client is not listed until it has.
class client_listing
{
public:
    client_listing(kernel::client_rows &rows, transition_log &log, std::uint32_t session, const mrc_client_row &client);
    client_listing(const client_listing &) = delete;
    client_listing &operator=(const client_listing &) = delete;
    ~client_listing();

    // What it has now. Costs a system call when that has changed.
    void update(const client_holdings &now);
    // Why the session closes, if it is not with the daemon.
    void closes(mrc_event_reason why) { end_ = why; }

private:
    kernel::client_rows &rows_; // borrowed, as is the next
    transition_log &log_;
    std::uint32_t session_;
    mrc_client_row row_;
    bool listed_;
    mrc_event_reason end_ = MRC_REASON_DAEMON_ENDS;
};

} // namespace mrc::service
