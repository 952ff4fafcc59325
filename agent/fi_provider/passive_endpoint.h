// SPDX-License-Identifier: Apache-2.0
// Where others connect: a TCP socket that listens, and the requests that have come to it.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include "fi_provider/connect_message.h"
#include "fi_provider/domain.h"
#include "messaging/exchange_socket.h"
#include "messaging/interfaces.h"

namespace mrc::fi_provider
{

// One that wants to connect: the handle in the fi_info of FI_CONNREQ.
struct connect_request {
    fid handle{};
    std::optional<messaging::socket_address> from; // by TCP
    messaging::exchange_socket socket;
    connect_message said;
    std::shared_ptr<const void> place; // once it is told of: one of its passive endpoint's
};

// It listens; or it does not, and an endpoint that is made of it connects from its address (fi_endpoint(3)).
class passive_endpoint : public fid_pep, private managed
{
public:
    // Without a source address it has none before set_address(). Throws messaging_failure.
    passive_endpoint(fabric &in, const fi_info &info, void *context);
    ~passive_endpoint() override;

    void bind(fi_event_queue &events);
    int listen();
    int reject(fid_t handle, std::span<const std::byte> data);
    void set_backlog(int connections) { backlog_ = connections; } // before listen()
    [[nodiscard]] const messaging::socket_address &address() const { return address_; }
    int set_address(const messaging::socket_address &address);
    [[nodiscard]] kernel::unique_fd give_socket() { return std::move(fd_); } // it has no address any more

private:
    void wants(std::vector<pollfd> &descriptors, clock::time_point &due) override;
    void proceed(clock::time_point now) override;
    void take_guests(clock::time_point now);
    [[nodiscard]] std::size_t unanswered() const { return static_cast<std::size_t>(places_.use_count()) - 1; }
    [[nodiscard]] bool is_done(std::unique_ptr<connect_request> &guest);

    fabric &in_;
    use_of fabric_use_;
    messaging::gid_bytes gid_;
    struct info_freed {
        void operator()(fi_info *info) const { ::fi_freeinfo(info); }
    };
    std::unique_ptr<fi_info, info_freed> info_;
    fi_event_queue *events_ = nullptr;
    use_of events_use_;
    messaging::socket_address address_;
    kernel::unique_fd fd_;
    int backlog_;
    std::list<std::unique_ptr<connect_request>> guests_;
    std::shared_ptr<const void> places_;         // also held by every request that is neither accepted nor rejected
    std::optional<clock::time_point> resume_at_; // no connection is taken before
};

[[nodiscard]] passive_endpoint &passive_of(fid_t of);

// A request that FI_CONNREQ told of becomes its caller's.
[[nodiscard]] std::unique_ptr<connect_request> take_request(fid_t handle);

} // namespace mrc::fi_provider
