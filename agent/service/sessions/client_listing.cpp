// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_listing.h"

#include "kernel/monotonic_clock.h"
#include "service/sessions/client_process.h"

namespace mrc::service
{

mrc_client_row row_of_client(pid_t process, uid_t user)
{
    mrc_client_row row{};
    row.pid = static_cast<__u32>(process);
    row.uid = user;
    command_of(process).copy(row.command, sizeof(row.command) - 1);
    row.connected_ns = static_cast<__u64>(kernel::monotonic_now().time_since_epoch().count());
    return row;
}

client_listing::client_listing(kernel::client_rows &rows, transition_log &log, std::uint32_t session,
                               const mrc_client_row &client)
    : rows_{rows}, log_{log}, session_{session}, row_{client}, listed_{rows_.set_client(session_, row_)}
{
    log_.on_session_opened(session_, row_, kernel::monotonic_now());
}

client_listing::~client_listing()
{
    rows_.remove_client(session_);
    log_.on_session_closed(session_, row_, end_, kernel::monotonic_now());
}

void client_listing::update(const client_holdings &now)
{
    if (listed_ && row_.queue_pairs == now.queue_pairs && row_.registered_bytes == now.registered_bytes &&
        row_.shared_bytes == now.shared_bytes)
        return;
    row_.queue_pairs = now.queue_pairs;
    row_.registered_bytes = now.registered_bytes;
    row_.shared_bytes = now.shared_bytes;
    listed_ = rows_.set_client(session_, row_);
}

} // namespace mrc::service
