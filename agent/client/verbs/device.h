// SPDX-License-Identifier: Apache-2.0
// The virtual verbs devices: what an ibv_context, ibv_pd or ibv_mr of ours stands for. Everything of libmrc that is
// given such an object starts here; nullptr means that it belongs to a real RDMA device.
//
// Lifetimes: device table, immortal; `device`, from ibv_open_device to ibv_close_device; the session behind it, as long
// as anybody holds it, so that MRC objects survive the ibv_context (programs close in any order).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include <infiniband/verbs.h>
#include <sys/types.h>

#include "client/daemon_channel.h"
#include "client/port_events.h"
#include "client/verbs/gid_table.h"

struct mrc_context;

namespace mrc::client
{

// One open virtual device: what is behind one ibv_context.
class device
{
public:
    // Throws std::system_error when descriptors run out.
    device(ibv_device *identity, std::shared_ptr<daemon_channel> daemon, const host_description &host);

    [[nodiscard]] const std::shared_ptr<daemon_channel> &daemon() const { return daemon_; }
    [[nodiscard]] ibv_device *identity() const { return identity_; }
    [[nodiscard]] int event_fd() const { return events_.fd(); }

    // EPERM in a child that inherited it by a fork: the session is its parent's.
    [[nodiscard]] result<void> check_owner() const;

    // What verbs' own queues on this device are made on (verbs/queues.h), from the first of them on; nullptr with
    // errno.
    [[nodiscard]] mrc_context *queues(ibv_context *verbs);
    // EBUSY while there are any.
    [[nodiscard]] result<void> close_queues();

    // What happened last to a port or to a queue; waits for it, or EAGAIN.
    [[nodiscard]] result<ibv_async_event> next_event();

    // The host now. EPERM as above, else what the session says.
    [[nodiscard]] result<host_description> describe() const;

private:
    ibv_device *identity_;
    std::shared_ptr<daemon_channel> daemon_;
    pid_t owner_;
    port_events events_;
    std::mutex mutex_; // of queues_
    mrc_context *queues_ = nullptr;
};

// ---- from verbs objects ----

[[nodiscard]] bool is_virtual(const ibv_device *one);
[[nodiscard]] device *device_of(const ibv_context *context);
[[nodiscard]] device *device_of(const ibv_pd *pd);
[[nodiscard]] device *device_of(const ibv_mr *mr);

// The session's number of a protection domain of ours; 0 for a foreign one. lkey and rkey of an ibv_mr are the
// session's memory_keys unchanged.
[[nodiscard]] std::uint32_t pd_number(const ibv_pd *pd);

// ---- between verbs and MRC values ----

[[nodiscard]] ibv_gid to_gid(const mrc_ip &address);
[[nodiscard]] mrc_ip to_address(const ibv_gid &gid);

// The largest IBV_MTU_… not above the bytes; IBV_MTU_256 below that.
[[nodiscard]] ibv_mtu mtu_not_above(std::uint32_t bytes);

// What ports report: of the payload that one packet carries.
[[nodiscard]] inline ibv_mtu active_mtu(const host_description &host)
{
    return mtu_not_above(host.payload_bytes);
}

} // namespace mrc::client
