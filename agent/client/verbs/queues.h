// SPDX-License-Identifier: Apache-2.0
// Verbs' own queues on a virtual device: what is behind an ibv_comp_channel, ibv_cq or ibv_qp of ours. A queue pair of
// type RC is one of MRC's (mrc.h), and does what those do: WRITE and WRITE with immediate. All else is refused as by a
// device that lacks it: EOPNOTSUPP for other types, shared receive queues and libibverbs' extended creation, EINVAL for
// a posted SEND, READ or atomic operation.
//
// Unlike reliable connections of InfiniBand: bytes of one WRITE, and of several, may arrive in any order (completions
// do not); a WRITE with immediate that finds no posted receive fails at once, for there is no "receiver not ready"; and
// timeout and retry_cnt say how long a silent peer is waited for, not how soon a packet is sent again.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include "client/verbs/device.h"
#include <mrc.h>

namespace mrc::client
{

// Those of libibverbs with ours behind. libibverbs acknowledges events by their public parts (mutex, cond and the
// numbers of completed events); `…_given` are under that mutex, too.
struct virtual_channel : ibv_comp_channel {
    mrc_comp_channel *inner = nullptr;
};

struct virtual_cq : ibv_cq {
    mrc_cq *inner = nullptr;
    std::uint32_t completions_given = 0;
    std::uint32_t async_given = 0;
};

struct virtual_qp : ibv_qp {
    mrc_qp *inner = nullptr;
    std::uint32_t async_given = 0;
    ibv_qp_attr remembered{}; // what MRC has no such attribute for, as it was set
};

namespace verbs
{

// The operations that verbs.h calls through the context.
void offer_queues(ibv_context_ops &operations) noexcept;

[[nodiscard]] ibv_comp_channel *create_comp_channel(ibv_context *context) noexcept;
int destroy_comp_channel(ibv_comp_channel *channel) noexcept;
[[nodiscard]] ibv_cq *create_cq(ibv_context *context, int entries, void *user, ibv_comp_channel *channel,
                                int vector) noexcept;
int destroy_cq(ibv_cq *cq) noexcept;
// Blocks unless the channel's descriptor has O_NONBLOCK.
int get_cq_event(ibv_comp_channel *channel, ibv_cq **cq, void **user) noexcept;
[[nodiscard]] ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *wanted) noexcept;
int modify_qp(ibv_qp *qp, ibv_qp_attr *attributes, int mask) noexcept;
int query_qp(ibv_qp *qp, ibv_qp_attr *attributes, ibv_qp_init_attr *init) noexcept;
int destroy_qp(ibv_qp *qp) noexcept;

// What happened last to one of these; nothing if nothing waits. `queues`, whose descriptor does not block. What it is
// about stays until ibv_ack_async_event.
[[nodiscard]] std::optional<ibv_async_event> next_event(mrc_context *queues) noexcept;

} // namespace verbs

} // namespace mrc::client
