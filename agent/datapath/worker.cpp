// SPDX-License-Identifier: Apache-2.0
#include "datapath/worker.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include "codec/frame_codec.h"
#include "kernel/monotonic_clock.h"
#include "kernel/startup_error.h"

namespace mrc::datapath
{

using namespace std::chrono_literals;
using protocol::instant;

namespace
{

constexpr std::size_t ethernet_bytes = 14;
constexpr auto report_interval = 10ms;
constexpr std::uint32_t receive_batch = 64;

void signal_event(int fd)
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof(one)); // EAGAIN: already signalled
}

// Of packets that belong to a QP.
protocol::qpn destination_of(const protocol::packet &content)
{
    return std::visit(
        [](const auto &packet) {
            if constexpr (requires { packet.destination; })
                return packet.destination;
            else
                return protocol::qpn{MRC_QPN_ENDPOINT};
        },
        content);
}

} // namespace

bool same_address(const mrc_ip &a, const mrc_ip &b)
{
    return std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

worker::worker(const worker_options &options, resources borrowed)
    : options_{options}, io_{std::move(borrowed)}, qp_by_row_(MRC_MAX_QPS), targets_{*io_.paths, *io_.overlay},
      doorbells_{::epoll_create1(EPOLL_CLOEXEC)}, service_bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      status_fd_{::memfd_create("mrc-worker-status", MFD_CLOEXEC | MFD_ALLOW_SEALING)}
{
    if (!doorbells_ || !service_bell_ || !status_fd_ ||
        ::ftruncate(status_fd_.get(), sizeof(session::worker_status)) != 0)
        kernel::fail_startup("cannot create the worker's bells");
    void *page =
        ::mmap(nullptr, sizeof(session::worker_status), PROT_READ | PROT_WRITE, MAP_SHARED, status_fd_.get(), 0);
    if (page == MAP_FAILED)
        kernel::fail_startup("cannot map the worker's status page");
    status_ = kernel::mapping{page, sizeof(session::worker_status)};
    ::fcntl(status_fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    qps_.reserve(MRC_MAX_QPS);
    for (transmit_engine *engine : io_.engines)
        if (engine != nullptr && std::ranges::find(distinct_engines_, engine) == distinct_engines_.end())
            distinct_engines_.push_back(engine);
}

worker::~worker()
{
    stop();
}

void worker::start()
{
    thread_ = std::thread{[this] { run(); }};
}

void worker::stop()
{
    stopping_ = true;
    if (thread_.joinable()) {
        signal_event(service_bell_.get());
        thread_.join();
    }
}

void worker::submit(call_base &request)
{
    if (!thread_.joinable()) { // not started yet, or stopped: the caller is alone
        request.run();
        return;
    }
    calls_.push(&request);
    signal_event(service_bell_.get());
    request.done.acquire();
}

void worker::add_qp(std::unique_ptr<worker_qp> qp)
{
    qp_by_row_[MRC_QPN_ROW(qp->number.value)] = qp.get();
    qp->client->by_bell[qp->bell] = qp.get();
    qp->protocol->set_receive_penalty(receive_penalty_);
    activate(*qp); // receive requests may wait
    connections_.add(*qp);
    qp->place = qps_.size();
    qps_.push_back(std::move(qp));
}

worker_qp *worker::find_qp(protocol::qpn number)
{
    worker_qp *qp = qp_by_row_[MRC_QPN_ROW(number.value)];
    return qp != nullptr && qp->number == number ? qp : nullptr;
}

std::unique_ptr<worker_qp> worker::remove_qp(protocol::qpn number)
{
    const worker_qp *known = find_qp(number);
    if (known == nullptr)
        return nullptr;
    std::unique_ptr<worker_qp> qp = std::exchange(qps_[known->place], nullptr);
    qp->protocol->fail(protocol::completion_status::flushed); // what it had in flight leaves the window of its peer
    if (qp->place + 1 != qps_.size()) {                       // the last takes its place
        qps_.back()->place = qp->place;
        qps_[qp->place] = std::move(qps_.back());
    }
    qps_.pop_back();
    connections_.remove(*qp);
    deactivate(*qp);
    qp->client->by_bell[qp->bell] = nullptr;
    qp_by_row_[MRC_QPN_ROW(number.value)] = nullptr;
    return qp;
}

void worker::run()
{
    sigset_t all;
    ::sigfillset(&all);
    ::sigdelset(&all, SIGBUS);                   // raised by this thread's own copies, see sigbus_guard.h
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr); // a signal would end a transmit call early
    ::pthread_setname_np(::pthread_self(), "mrc-worker");
    ::prctl(PR_SET_TIMERSLACK, 1);

    instant idle_since = kernel::monotonic_now();
    while (!stopping_.load(std::memory_order_relaxed)) {
        if (round() != 0)
            idle_since = kernel::monotonic_now();
        else if (kernel::monotonic_now() - idle_since >= options_.spin)
            sleep_until(next_deadline());
    }
    run_calls();
}

std::size_t worker::round()
{
    ++counters_.loops;
    std::size_t work = run_calls();
    const instant now = kernel::monotonic_now();
    work += receive(now);
    work += take_requests(now);
    run_timers(now);
    work += transmit(now);
    settle();
    if (now >= next_watch_) {
        watch_paths(now);
        next_watch_ = now + probe_targets::watch_interval;
    }
    if (now >= next_report_) {
        report();
        next_report_ = now + report_interval;
    }
    return work;
}

std::size_t worker::run_calls()
{
    return calls_.consume_all([](call_base *request) {
        request->run();
        request->done.release();
    });
}

std::size_t worker::receive(instant now)
{
    std::size_t count = 0;
    for (const auto &socket : *io_.sockets)
        count +=
            socket->receive(receive_batch, [&](std::byte *data, std::uint32_t length) { on_frame(data, length, now); });
    counters_.received += count;
    return count;
}

void worker::on_frame(std::byte *data, std::uint32_t length, instant now)
{
    mrc_rx_meta meta;
    std::memcpy(&meta, data - sizeof(meta), sizeof(meta));
    if (meta.magic != MRC_RX_META_MAGIC || length < ethernet_bytes) {
        ++counters_.drops[MRC_AGENT_DROP_NO_METADATA];
        return;
    }
    const bool trimmed = (meta.flags & MRC_RX_TRIMMED) != 0;
    const auto parsed = codec::decode({data + ethernet_bytes, length - ethernet_bytes}, trimmed);
    if (!parsed) {
        ++counters_.drops[codec::verdict(parsed.error())];
        return;
    }
    const instant arrival{std::chrono::nanoseconds{meta.arrival_ns}};
    const bool backlogged = options_.backlog_mark.count() != 0 && now - arrival > options_.backlog_mark;
    counters_.backlogged += backlogged ? 1 : 0;
    const protocol::arrival arrived{.entropy = protocol::ev{meta.ev},
                                    .path = protocol::path_index{meta.path},
                                    .at = arrival,
                                    .congestion_experienced = (meta.flags & MRC_RX_CE) != 0 || backlogged,
                                    .trimmed = trimmed,
                                    .trimmed_last_hop = (meta.flags & MRC_RX_LAST_HOP) != 0,
                                    .wire_bytes = parsed->ip_bytes};
    if (meta.qp_row == MRC_NO_QP) {
        on_endpoint_packet(*parsed, arrived, now);
        return;
    }
    worker_qp *qp = meta.qp_row < MRC_MAX_QPS ? qp_by_row_[meta.qp_row] : nullptr;
    // The row may have changed hands while the frame waited in its ring.
    if (qp == nullptr || qp->number != destination_of(parsed->content)) {
        ++counters_.drops[MRC_AGENT_DROP_UNKNOWN_QP];
        return;
    }
    if (!same_address(parsed->source, qp->address)) {
        ++counters_.drops[MRC_AGENT_DROP_WRONG_PEER];
        return;
    }
    ++counters_.drops[MRC_AGENT_ACCEPTED];
    take_receives(*qp); // a request posted before the peer was told to send is there before its message
    activate(*qp);
    qp->protocol->on_packet(parsed->content, parsed->payload, arrived, now);
}

void worker::run_timers(instant now)
{
    for_each_active([now](worker_qp &qp) {
        if (qp.protocol->next_deadline() <= now)
            qp.protocol->on_timer(now);
    });
}

} // namespace mrc::datapath
