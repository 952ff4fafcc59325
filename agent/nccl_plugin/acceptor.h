// SPDX-License-Identifier: Apache-2.0
// Where senders of other hosts connect: a TCP socket, and what has come to it. Who does not show the handle's token is
// turned away, and does not keep others waiting.
#pragma once

#include <list>
#include <memory>

#include "messaging/exchange_socket.h"
#include "nccl_plugin/connect_handle.h"
#include "nccl_plugin/greeting.h"
#include "nccl_plugin/receiver.h"

namespace mrc::nccl_plugin
{

class acceptor
{
public:
    // On the interface that NCCL_SOCKET_IFNAME names. Throws messaging_failure.
    acceptor(std::shared_ptr<session> at, const messaging::gid_bytes &gid);

    [[nodiscard]] const connect_handle &handle() const { return handle_; }
    // A connection, or null with success: none is ready yet.
    [[nodiscard]] result accept(std::unique_ptr<receiver> &accepted);

private:
    enum class stage : std::uint8_t { greeting, answering, establishing };
    struct guest {
        messaging::exchange_socket socket;
        stage at = stage::greeting;
        std::unique_ptr<receiver> connection;
    };
    using guests = std::list<guest>;

    void welcome();
    [[nodiscard]] bool is_turned_away(guest &one, result &outcome);
    [[nodiscard]] result set_up(guest &one, const greeting &theirs);

    std::shared_ptr<session> session_;
    kernel::unique_fd fd_;
    connect_handle handle_;
    guests guests_;
};

} // namespace mrc::nccl_plugin
