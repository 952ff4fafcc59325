// SPDX-License-Identifier: Apache-2.0
// What the opaque structures of mrc.h are. Locks: one per object, taken in the order context, channel, QP's attributes,
// CQ, QP's queues; posting and polling take only their own object's, so different objects never wait for each other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "client/daemon_session.h"
#include "client/verbs/device.h"
#include "kernel/giving_way.h"
#include <mrc.h>
#include <mrc_ctl.h>

namespace mrc::client
{

// Forks between this process and the one that loaded the library: what posting and polling look at, since getpid() is
// a system call.
extern std::atomic<std::uint32_t> forks_before;

} // namespace mrc::client

struct mrc_context {
    std::shared_ptr<mrc::client::daemon_session> daemon;
    ibv_context *verbs = nullptr;
    pid_t owner = 0;
    std::uint32_t generation = mrc::client::forks_before.load();
    mrc::client::event_pipe events;
    std::atomic<int> children = 0; // channels, CQs, QPs, hints
    std::atomic<int> hints = 0;
    bool gone_reported = false;                            // the device-fatal event has been given out
    std::size_t ev_event_bytes = sizeof(mrc_ctl_ev_event); // as the caller's version of mrc_ctl.h has it

    std::mutex lock;                                         // of what follows
    std::unordered_map<std::uint32_t, mrc_qp *> qps;         // by QPN
    std::unordered_map<std::uint32_t, mrc_cq *> cqs;         // by number
    std::map<std::uint64_t, mrc_ctl_cc_nscc_cfg> cc_configs; // by profile: what queries have given out
    std::condition_variable acknowledged;
};

struct mrc_comp_channel {
    mrc_context *context = nullptr;
    mrc::client::event_pipe pipe;
    // The caller has its descriptor, to poll it by itself; or does so by mrc_poll_events().
    std::atomic<bool> is_polled = false;
    std::atomic<bool> is_waited_for = false;

    std::mutex lock;
    std::unordered_map<std::uint32_t, mrc_cq *> cqs; // by number
    std::size_t gone_turn = 0;                       // whose event is next once the daemon has gone
    std::condition_variable acknowledged;
};

struct mrc_cq {
    mrc_context *context = nullptr;
    mrc_comp_channel *channel = nullptr;
    void *user = nullptr;
    std::uint32_t number = 0;
    std::uint64_t subscription = 0;     // to EV events, of which it is a queue; 0: of completions
    std::atomic<bool> ev_armed = false; // the next EV event signals the channel
    mrc::kernel::mapping memory;

    std::mutex lock; // of polling
    mrc::session::ring_view<mrc::session::completion_entry> ring;
    std::unordered_map<std::uint32_t, mrc_qp *> qps; // by QPN
    mrc_qp *latest = nullptr;                        // whose completion was polled last
    std::uint32_t empty_polls = 0;
    mrc::kernel::giving_way core;  // by an empty poll now and then
    std::int64_t next_look_ns = 0; // when an empty poll looks whether the daemon is there
    unsigned int events_given = 0; // by get_cq_event; under the channel's lock, as the next
    unsigned int events_acked = 0;
    unsigned int async_given = 0; // under the context's lock, as the next
    unsigned int async_acked = 0;
};

struct mrc_qp {
    mrc_context *context = nullptr;
    mrc_cq *send_cq = nullptr;
    mrc_cq *receive_cq = nullptr;
    ibv_pd *pd = nullptr;
    void *user = nullptr;
    bool all_signaled = false;
    std::uint64_t operations = 0; // ibv_qp_create_send_ops_flags
    ibv_qp_cap granted{};
    mrc::session::qp_reply numbers{};
    mrc::kernel::mapping rings;

    struct posted {
        std::uint64_t id = 0;
        bool immediate = false;
    };
    std::mutex send_lock;
    mrc::session::ring_view<mrc::session::send_entry> sends;
    std::vector<posted> posted_sends;          // by slot: told as flushed when the daemon goes
    std::atomic<std::uint32_t> sends_done = 0; // position behind the newest completed request
    std::mutex receive_lock;
    mrc::session::ring_view<mrc::session::receive_entry> receives;
    std::vector<std::uint64_t> posted_receives;
    std::atomic<std::uint32_t> receives_done = 0;
    std::atomic<std::uint16_t> resets = 0; // how often it has been reset; completions from before are dropped
    std::atomic<bool> connected = false;   // the worker has it: since RTR, until RESET
    std::atomic<mrc_qp_hint *> hint = nullptr;
    std::atomic<int> state = IBV_QPS_RESET; // as this process has set it; the daemon may know of a failure

    std::mutex lock;               // of what follows
    ibv_qp_attr verbs{};           // what the daemon does not keep
    std::uint32_t report_page = 0; // enum mrc_report_page
    unsigned int async_given = 0;  // under the context's lock, as the next
    unsigned int async_acked = 0;

    [[nodiscard]] mrc::session::queue_pair_layout layout() const
    {
        return {.send_capacity = numbers.send_depth,
                .receive_capacity = numbers.receive_depth,
                .most_pieces = numbers.most_pieces,
                .most_inline = numbers.most_inline};
    }
};

struct mrc_qp_hint {
    mrc_context *context = nullptr;
    mutable std::mutex lock;
    mrc_qp_hint_attr attributes{};
    std::atomic<int> users = 0; // queue pairs

    [[nodiscard]] mrc_qp_hint_attr now() const
    {
        const std::scoped_lock held{lock};
        return attributes;
    }
};

namespace mrc::client
{

// EPERM in a child process that inherited the object: the session is its parent's.
[[nodiscard]] result<void> check_owner(const mrc_context *context);
// The same for the fast path.
[[nodiscard]] inline bool is_inherited(const mrc_context &context)
{
    return context.generation != forks_before.load(std::memory_order_relaxed);
}

// The daemon has gone: what was posted on the CQ's queue pairs comes back as flushed. Under the CQ's lock.
[[nodiscard]] int poll_orphaned(mrc_cq &cq, int wanted, ibv_wc *to);

} // namespace mrc::client
