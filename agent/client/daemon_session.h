// SPDX-License-Identifier: Apache-2.0
// A session with a real mrcd: requests over its socket, rings and bells in shared memory. What verbs devices need of it
// is daemon_channel.h; completion queues and queue pairs of MRC use the rest.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "client/control_line.h"
#include "client/daemon_channel.h"
#include "kernel/unique_fd.h"
#include "session/embedded_worker.h"
#include "session/session_protocol.h"
#include "session/work_ring.h"

namespace mrc::client
{

// A pipe that the daemon tells of events in.
struct event_pipe {
    std::uint32_t number = 0;
    kernel::unique_fd end; // blocking
};

// Shared memory of an object, with the daemon's words about it.
template <typename Reply>
struct shared_object {
    Reply reply{};
    kernel::mapping memory;
};

class daemon_session final : public daemon_channel
{
public:
    [[nodiscard]] static result<std::shared_ptr<daemon_session>> connect(const daemon_instance &where);

    [[nodiscard]] result<host_description> describe() override;
    [[nodiscard]] result<std::uint32_t> allocate_pd() override;
    result<void> deallocate_pd(std::uint32_t pd) override;
    [[nodiscard]] result<memory_keys> register_memory(std::uint32_t pd, void *address, std::uint64_t length,
                                                      std::uint64_t iova, std::uint32_t access) override;
    result<void> deregister_memory(std::uint32_t lkey) override;
    [[nodiscard]] int event_fd() const override { return events_.end.get(); }
    void clear_events() override;
    // Once true, always true. Costs a system call while the daemon lives.
    [[nodiscard]] bool gone() const override;

    [[nodiscard]] result<session::host_reply> host();
    [[nodiscard]] result<event_pipe> open_events();
    [[nodiscard]] result<event_pipe> create_channel();
    [[nodiscard]] result<shared_object<session::cq_reply>> create_cq(const session::cq_request &wanted);
    [[nodiscard]] result<shared_object<session::qp_reply>> create_qp(const session::qp_request &wanted);
    [[nodiscard]] result<session::qp_attributes> modify_qp(const session::qp_attributes &wanted);
    [[nodiscard]] result<session::qp_attributes> query_qp(std::uint32_t qpn);
    [[nodiscard]] result<session::qp_report> report_qp(std::uint32_t qpn);
    [[nodiscard]] result<session::status_report> status();
    // Requests that name one object and answer with success or not: destroy_…, close_events, reset_progress.
    result<void> act(session::request_kind kind, std::uint32_t number);

    // A request of control_protocol.h with its array, and the reply with its own.
    [[nodiscard]] result<std::vector<std::byte>> control(std::span<const std::byte> request);

    // Of all requests from now on: each waits so long, 0: for ever, and the daemon that does not answer counts as gone.
    void be_patient_for(std::chrono::milliseconds patience);

    // To the same daemon, for requests that are not answered at once.
    [[nodiscard]] result<control_line> open_line(std::chrono::milliseconds patience) const;

    // Tells the worker that the rings behind this bell have something new. No system call while it runs. With a daemon
    // inside this process the caller makes the round that sees it if it is to be seen `at_once`.
    void ring(std::uint32_t bell, bool at_once);

    // Of a daemon inside this process, whose rounds the caller may make: see embedded_worker.h. Of another one: false,
    // at once, nothing, or ppoll().
    bool make_round(session::round_for what) const { return inside_ != nullptr && inside_->round(what); }
    [[nodiscard]] int poll(pollfd *descriptors, nfds_t count, const timespec *limit) const
    {
        return inside_ != nullptr ? inside_->poll(descriptors, count, limit)
                                  : ::ppoll(descriptors, count, limit, nullptr);
    }
    void hand_over() const
    {
        if (inside_ != nullptr)
            inside_->hand_over();
    }
    [[nodiscard]] bool is_inside() const { return inside_ != nullptr; }

private:
    daemon_session(daemon_instance where, kernel::unique_fd socket)
        : where_{std::move(where)}, socket_{std::move(socket)}
    {
    }
    [[nodiscard]] result<session::session_reply> exchange(const session::session_request &request, int fd_out = -1,
                                                          std::span<kernel::unique_fd> fds_in = {});
    [[nodiscard]] result<session::session_reply> say_hello();
    [[nodiscard]] result<event_pipe> open_pipe(session::request_kind kind, session::request_kind undo);

    daemon_instance where_;
    std::mutex turn_; // of requests
    kernel::unique_fd socket_;
    mutable std::atomic<bool> gone_ = false;
    kernel::unique_fd doorbell_;
    kernel::mapping worker_page_;
    kernel::mapping bell_memory_;
    event_pipe events_;
    const session::embedded_worker *inside_ = nullptr; // this process, or null
    bool process_memory_ = false;                      // the daemon reaches all memory of this process
};

} // namespace mrc::client
