// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/endpoint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <ranges>

#include <fcntl.h>
#include <fmt/format.h>
#include <mrc/wait.h>
#include <poll.h>

#include "tools/mrc-perf/address.h"
#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

constexpr int completions_at_once = 64;
constexpr std::uint32_t psn_mask = 0xFFFFFF;
constexpr std::uint32_t receives = 2; // of --events: messages come one at a time, and each makes room for another

// "retry_exceeded" and so on, as verbs programmers know them, for scripts; and for users.
struct status_name {
    ibv_wc_status status;
    const char *name;
    const char *text;
};
constexpr status_name known_statuses[] = {
    {IBV_WC_REM_ACCESS_ERR, "remote_access_error", "the far end refused the memory access"},
    {IBV_WC_REM_OP_ERR, "remote_operation_error", "the far end could not complete a WRITE"},
    {IBV_WC_REM_INV_REQ_ERR, "remote_invalid_request", "the far end refused the request"},
    {IBV_WC_RETRY_EXC_ERR, "retry_exceeded", "the far end does not answer, all retries are used up"},
    {IBV_WC_WR_FLUSH_ERR, "flushed", "mrcd gave the queue pair up"},
    {IBV_WC_LOC_PROT_ERR, "local_protection_error", "mrcd refused this end's own memory"},
};

perf_error failure_of(const ibv_wc &completion)
{
    const auto *known = std::ranges::find(known_statuses, completion.status, &status_name::status);
    if (known == std::end(known_statuses))
        return perf_error{fmt::format("QP {}: {}", completion.qp_num, ::ibv_wc_status_str(completion.status)),
                          "unknown"};
    return perf_error{fmt::format("QP {}: {}", completion.qp_num, known->text), known->name};
}

void must(int error, const char *what)
{
    if (error != 0)
        throw perf_error{fmt::format("{}: {}", what, std::strerror(error))};
}

template <typename T>
T *must(T *made, const char *what)
{
    if (made == nullptr)
        throw perf_error{fmt::format("{}: {}", what, std::strerror(errno))};
    return made;
}

void to_init(mrc_qp *qp)
{
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    must(::mrc_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, nullptr,
                         0),
         "a queue pair to INIT");
}

void to_rtr(mrc_qp *qp, const qp_identity &peer, const ibv_gid &gid, int own_gid_index)
{
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_4096; // an upper bound
    attributes.dest_qp_num = peer.qpn;
    attributes.rq_psn = peer.first_psn;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(own_gid_index);
    attributes.ah_attr.grh.dgid = gid;
    must(::mrc_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU,
                         nullptr, 0),
         "connecting a queue pair");
}

void to_rts(mrc_qp *qp, std::uint32_t first_psn, const test_plan &plan)
{
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = first_psn;
    mrc_qp_attr retries{};
    retries.timeout = static_cast<std::uint8_t>(plan.timeout);
    retries.retry = {.linear_cnt = static_cast<std::uint8_t>(plan.linear),
                     .exp_cnt = static_cast<std::uint8_t>(plan.exponential)};
    must(::mrc_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, &retries, MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT),
         "connecting a queue pair");
}

} // namespace

endpoint::endpoint(const std::string &device) : device_{device}, gid_index_{primary_gid_index} {}

void endpoint::prepare(const test_plan &plan, bool sends, bool receives)
{
    plan_ = plan;
    std::uint64_t bytes = 0;
    std::uint32_t window = 0;
    for (const test_plan &run : plan.runs()) {
        bytes = std::max(bytes, run.memory_bytes());
        window = std::max(window, run.window);
    }
    if (sends)
        send_memory_ = registered_memory{device_, plan.memory, bytes, std::byte{0x5a}};
    if (receives)
        receive_memory_ = registered_memory{device_, plan.memory, bytes, std::byte{0}};
    create_queues(window);
}

void endpoint::create_queues(std::uint32_t depth)
{
    mrc_comp_channel *events = nullptr;
    must(::mrc_create_comp_channel(device_.mrc(), &events) == 0 ? 0 : errno, "completion channel");
    events_.reset(events);
    must(::mrc_get_comp_channel_fd(events, &events_fd_) == 0 ? 0 : errno, "completion channel");
    ::fcntl(events_fd_, F_SETFL, ::fcntl(events_fd_, F_GETFL) | O_NONBLOCK);

    std::random_device random;
    const std::uint32_t receive_depth = plan_.events ? receives : 1; // one that nobody uses has an entry, too
    const std::uint32_t each = depth + receive_depth;
    const std::uint32_t per_cq = std::max(1U, static_cast<std::uint32_t>(device_.most_completions()) / each);
    for (std::uint32_t i = 0; i < plan_.qps; ++i) {
        if (i % per_cq == 0) {
            const auto entries = static_cast<int>(std::min(per_cq, plan_.qps - i) * each);
            cqs_.emplace_back(must(::mrc_create_cq(device_.mrc(), entries, nullptr, events, 0), "completion queue"));
        }
        mrc_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = cqs_.back().get();
        wanted.cap = {.max_send_wr = depth,
                      .max_recv_wr = receive_depth,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = 0};
        wanted.pd = device_.pd();
        qps_.emplace_back(must(::mrc_create_qp(device_.mrc(), &wanted), "queue pair"));
        to_init(qps_.back().get());
        qp_identity &name = names_.emplace_back(qp_identity{.qpn = 0, .first_psn = random() & psn_mask});
        must(::mrc_get_qpn(qps_.back().get(), &name.qpn) == 0 ? 0 : errno, "queue pair");
    }
    completed_.resize(plan_.qps);
    for (std::uint32_t i = 0; plan_.events && i < receives; ++i)
        post_receive();
}

void endpoint::connect(const side &peer)
{
    peer_ = peer;
    for (std::size_t i = 0; i < qps_.size(); ++i) {
        to_rtr(qps_[i].get(), peer.qps[i], peer.gid, gid_index_);
        to_rts(qps_[i].get(), names_[i].first_psn, plan_);
    }
    payload_bytes_ = payload_bytes_of(qps_.front().get());
}

bool endpoint::use_ipv4()
{
    for (const int index : {primary_gid_index, second_gid_index}) {
        if (!is_ipv4(device_.gid(index)))
            continue;
        gid_index_ = index;
        return true;
    }
    return false;
}

side endpoint::identity() const
{
    return {.gid = device_.gid(gid_index_),
            .payload_bytes = payload_bytes_,
            .remote_va = receive_memory_.address(),
            .rkey = receive_memory_.rkey(),
            .qps = names_};
}

void endpoint::begin(const test_plan &run)
{
    plan_ = run;
    std::ranges::fill(completed_, 0);
    all_completed_ = 0;
    received_ = 0;
    if (used_) {
        std::ranges::fill(receive_memory_.bytes(), std::byte{0});
        reset_stall();
    }
    // Fresh queue pairs have counted nothing: what they share is enough to ask for.
    first_ = traffic_of(std::span{qps_}.first(used_ ? qps_.size() : 1));
    used_ = true;
}

std::uint64_t endpoint::offset(std::uint32_t qp, std::uint64_t slot) const
{
    return (std::uint64_t{qp} * plan_.window + slot) * plan_.slot_bytes();
}

std::span<std::byte> endpoint::send_slot(std::uint32_t qp, std::uint64_t slot) const
{
    return send_memory_.bytes().subspan(offset(qp, slot), plan_.size);
}

std::span<std::byte> endpoint::receive_slot(std::uint32_t qp, std::uint64_t slot) const
{
    return receive_memory_.bytes().subspan(offset(qp, slot), plan_.size);
}

void endpoint::write(std::uint32_t qp, std::uint64_t from_slot, std::uint64_t to_slot, std::uint64_t bytes)
{
    ibv_sge piece{.addr = send_memory_.address() + offset(qp, from_slot),
                  .length = static_cast<std::uint32_t>(bytes),
                  .lkey = send_memory_.lkey()};
    ibv_send_wr request{};
    request.wr_id = qp;
    request.sg_list = &piece;
    request.num_sge = 1;
    // An immediate makes a completion at the peer, and its being solicited an event there; completions of what was
    // sent make none.
    request.opcode = plan_.events ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    if (plan_.events)
        request.send_flags |= IBV_SEND_SOLICITED;
    request.wr.rdma.remote_addr = peer_.remote_va + offset(qp, to_slot);
    request.wr.rdma.rkey = peer_.rkey;
    ibv_send_wr *refused = nullptr;
    if (const int error = ::mrc_post_send(qps_[qp].get(), &request, &refused); error != 0)
        throw perf_error{fmt::format("QP {}: cannot post a WRITE: {}", names_[qp].qpn, std::strerror(error))};
}

bool endpoint::take_completions()
{
    bool some = false;
    for (const auto &cq : cqs_)
        some |= take_from(cq.get());
    return some;
}

bool endpoint::take_from(mrc_cq *cq)
{
    std::array<ibv_wc, completions_at_once> done;
    bool some = false;
    int count = 0;
    do {
        count = ::mrc_poll_cq(cq, completions_at_once, done.data());
        must(count >= 0 ? 0 : errno, "completions");
        for (int i = 0; i < count; ++i) {
            const ibv_wc &one = done[static_cast<std::size_t>(i)];
            if (one.status == IBV_WC_WR_FLUSH_ERR)
                check_daemon(); // which is why, if it has gone
            if (one.status != IBV_WC_SUCCESS)
                throw failure_of(one);
            if (one.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
                ++received_;
                post_receive();
                continue;
            }
            ++completed_[one.wr_id];
            ++all_completed_;
        }
        some |= count > 0;
    } while (count == completions_at_once);
    return some;
}

void endpoint::post_receive()
{
    ibv_recv_wr request{};
    ibv_recv_wr *refused = nullptr;
    must(::mrc_post_recv(qps_.front().get(), &request, &refused), "a receive");
}

void endpoint::take_events()
{
    mrc_cq *cq = nullptr;
    void *user = nullptr;
    while (::mrc_get_cq_event(events_.get(), &cq, &user) == 0)
        ::mrc_ack_cq_events(cq, 1);
}

bool endpoint::wait(std::span<const int> others, std::chrono::nanoseconds limit)
{
    for (const auto &cq : cqs_)
        must(::mrc_req_notify_cq(cq.get(), plan_.events ? 1 : 0), "completions");
    if (take_completions()) // those from before the queues were armed
        return false;
    std::vector<pollfd> fds{{.fd = device_.event_fd(), .events = POLLIN, .revents = 0},
                            {.fd = events_fd_, .events = POLLIN, .revents = 0}};
    for (const int other : others)
        fds.push_back({.fd = other, .events = POLLIN, .revents = 0});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
    const timespec longest{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
    if (::mrc_poll_events(events_.get(), fds.data(), fds.size(), &longest) <= 0)
        return true;
    if (fds[0].revents != 0)
        check_daemon();
    if (fds[1].revents != 0)
        take_events();
    return std::ranges::any_of(fds | std::views::drop(2), [](const pollfd &one) { return one.revents != 0; });
}

void endpoint::check_daemon()
{
    if (device_.gone())
        throw perf_error{"mrcd of this host is gone", "daemon_gone"};
}

traffic endpoint::query()
{
    return since(first_, traffic_of(qps_));
}

void endpoint::reset_stall()
{
    for (const auto &qp : qps_)
        reset_stall_of(qp.get());
}

} // namespace mrc::perf
