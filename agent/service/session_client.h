// SPDX-License-Identifier: Apache-2.0
// A client's side of a session with mrcd: registered memory, queue pairs, work requests and completions.
// One session belongs to one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "datapath/unique_fd.h"
#include "datapath/work_ring.h"
#include "service/session_protocol.h"

namespace mrc::service
{

struct session_error {
    int code = 0; // errno
    std::string text;
};
template <typename T>
using session_result = std::expected<T, session_error>;

// Memory that the daemon reaches by plain copies: a sealed memfd mapped by both.
class registered_memory
{
public:
    [[nodiscard]] std::span<std::byte> bytes() const { return memory_.bytes(); }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_.get()); }
    [[nodiscard]] std::uint32_t key() const { return key_; }

private:
    friend class session;
    datapath::mapping memory_;
    std::uint32_t key_ = 0;
};

class session_qp
{
public:
    [[nodiscard]] std::uint32_t qpn() const { return reply_.qpn; }
    [[nodiscard]] std::uint32_t first_psn() const { return reply_.first_psn; }
    [[nodiscard]] std::uint32_t send_depth() const { return reply_.send_depth; }

private:
    friend class session;
    qp_reply reply_{};
    datapath::mapping rings_;
    datapath::ring_view<datapath::send_entry> sends_;
    datapath::ring_view<datapath::completion_entry> completions_;
    datapath::unique_fd completion_event_;
};

class session
{
public:
    // The socket of the instance named in MRC_INSTANCE, else of the only one found in /run/mrc.
    [[nodiscard]] static session_result<std::string> default_socket();
    [[nodiscard]] static session_result<session> open(const std::string &socket_path);

    [[nodiscard]] const hello_reply &host() const { return hello_; }

    // `bytes` of zeroed memory, registered with `access` (datapath::region_access).
    [[nodiscard]] session_result<registered_memory> allocate(std::uint64_t bytes, std::uint32_t access);
    session_result<void> release(registered_memory &memory);

    [[nodiscard]] session_result<session_qp> create_qp(std::uint32_t send_depth);
    session_result<void> connect(const session_qp &qp, const connect_request &peer); // peer.qpn is filled in
    session_result<void> destroy(session_qp &qp);

    // False when the send ring is full. No system call while the worker runs.
    bool post(session_qp &qp, const datapath::send_entry &request);
    [[nodiscard]] std::optional<datapath::completion_entry> poll(session_qp &qp);
    // Waits until a completion can be polled, the daemon goes, or `limit` passes. False: nothing there.
    bool wait(session_qp &qp, std::chrono::milliseconds limit) { return wait({&qp, 1}, {}, limit); }
    // The same for several queue pairs; readable `others` (sockets, signals) end it as well.
    bool wait(std::span<session_qp> qps, std::span<const int> others, std::chrono::milliseconds limit);
    [[nodiscard]] bool daemon_gone() const;

    [[nodiscard]] session_result<qp_report> query(const session_qp &qp);
    session_result<void> reset_progress(const session_qp &qp);
    [[nodiscard]] session_result<status_report> status();

private:
    explicit session(datapath::unique_fd socket) : socket_{std::move(socket)} {}
    session_result<session_reply> exchange(const session_request &request, int fd_out = -1,
                                           std::span<datapath::unique_fd> fds_in = {});

    datapath::unique_fd socket_;
    datapath::unique_fd doorbell_;
    datapath::mapping worker_page_;
    hello_reply hello_{};
};

} // namespace mrc::service
