// SPDX-License-Identifier: Apache-2.0
#include "datapath/worker.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include "datapath/frame_codec.h"
#include "datapath/startup_error.h"

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

bool same_address(const mrc_ip &a, const mrc_ip &b)
{
    return std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

bool before(const worker_peer &a, const worker_peer &b)
{
    return std::memcmp(a.address.bytes, b.address.bytes, sizeof(a.address.bytes)) < 0;
}

} // namespace

instant monotonic_now()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return instant{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

worker::worker(const worker_options &options, resources borrowed)
    : options_{options}, io_{std::move(borrowed)}, qp_by_row_(MRC_MAX_QPS), targets_{*io_.paths, *io_.overlay},
      doorbell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, service_bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      status_fd_{::memfd_create("mrc-worker-status", MFD_CLOEXEC | MFD_ALLOW_SEALING)}
{
    if (!doorbell_ || !service_bell_ || !status_fd_ || ::ftruncate(status_fd_.get(), sizeof(worker_status)) != 0)
        fail_startup("cannot create the worker's doorbell");
    void *page = ::mmap(nullptr, sizeof(worker_status), PROT_READ | PROT_WRITE, MAP_SHARED, status_fd_.get(), 0);
    if (page == MAP_FAILED)
        fail_startup("cannot map the worker's status page");
    status_ = mapping{page, sizeof(worker_status)};
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
    qps_.push_back(std::move(qp));
}

worker_qp *worker::find_qp(protocol::qpn number)
{
    worker_qp *qp = qp_by_row_[MRC_QPN_ROW(number.value)];
    return qp != nullptr && qp->number == number ? qp : nullptr;
}

std::unique_ptr<worker_qp> worker::remove_qp(protocol::qpn number)
{
    const auto at = std::ranges::find_if(qps_, [&](const auto &qp) { return qp->number == number; });
    if (at == qps_.end())
        return nullptr;
    std::unique_ptr<worker_qp> qp = std::move(*at);
    qps_.erase(at);
    qp_by_row_[MRC_QPN_ROW(number.value)] = nullptr;
    return qp;
}

void worker::run()
{
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr); // a signal would end a transmit call early
    ::pthread_setname_np(::pthread_self(), "mrc-worker");
    ::prctl(PR_SET_TIMERSLACK, 1);

    instant idle_since = monotonic_now();
    while (!stopping_.load(std::memory_order_relaxed)) {
        ++counters_.loops;
        std::size_t work = run_calls();
        instant now = monotonic_now();
        work += receive(now);
        work += take_requests(now);
        run_timers(now);
        work += transmit(now);
        for (const auto &qp : qps_)
            deliver_completions(*qp);
        if (now >= next_watch_) {
            watch_paths(now);
            next_watch_ = now + probe_targets::watch_interval;
        }
        if (now >= next_report_) {
            report();
            next_report_ = now + report_interval;
        }
        if (work != 0)
            idle_since = now;
        else if (now - idle_since >= options_.spin)
            sleep_until(next_deadline());
    }
    run_calls();
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
    const auto parsed = decode({data + ethernet_bytes, length - ethernet_bytes}, trimmed);
    if (!parsed) {
        ++counters_.drops[verdict(parsed.error())];
        return;
    }
    const protocol::arrival arrived{.entropy = protocol::ev{meta.ev},
                                    .path = protocol::path_index{meta.path},
                                    .at = instant{std::chrono::nanoseconds{meta.arrival_ns}},
                                    .congestion_experienced = (meta.flags & MRC_RX_CE) != 0,
                                    .trimmed = trimmed,
                                    .trimmed_last_hop = (meta.flags & MRC_RX_LAST_HOP) != 0,
                                    .wire_bytes = parsed->ip_bytes};
    if (meta.qp_row == MRC_NO_QP) {
        on_endpoint_packet(*parsed, arrived);
        return;
    }
    worker_qp *qp = meta.qp_row < MRC_MAX_QPS ? qp_by_row_[meta.qp_row] : nullptr;
    if (qp == nullptr) {
        ++counters_.drops[MRC_AGENT_DROP_UNKNOWN_QP];
        return;
    }
    if (!same_address(parsed->source, qp->peer.address)) {
        ++counters_.drops[MRC_AGENT_DROP_WRONG_PEER];
        return;
    }
    ++counters_.drops[MRC_AGENT_ACCEPTED];
    qp->protocol->on_packet(parsed->content, parsed->payload, arrived, now);
}

// Room for its completion is what a request needs; after an error the older ones are completed first.
bool worker::can_take(const worker_qp &qp)
{
    const bool draining = qp.protocol->state() == protocol::qp_state::error && qp.protocol->outstanding() != 0;
    return !qp.sends.empty() && !draining && qp.protocol->outstanding() < qp.sends.capacity() && !qp.completions.full();
}

// At most a burst of each QP, so that no client keeps the others waiting.
std::size_t worker::take_requests(instant now)
{
    std::size_t count = 0;
    send_entry entry;
    for (const auto &qp : qps_) {
        for (std::uint32_t n = 0; n < options_.burst && can_take(*qp) && qp->sends.pop(entry); ++n) {
            const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(entry.length, UINT32_MAX));
            const protocol::write_request request{
                .id = entry.id,
                .source = {.lkey = entry.lkey, .address = entry.local_address, .bytes = bytes},
                .remote_va = entry.remote_address,
                .rkey = entry.rkey,
                .signaled = (entry.flags & send_signaled) != 0};
            ++count;
            if (qp->protocol->post_write(request, now))
                continue;
            qp->completions.push({.id = entry.id,
                                  .status = static_cast<std::uint32_t>(protocol::completion_status::flushed),
                                  .qpn = qp->number.value});
            qp->completion_pending = true;
        }
    }
    return count;
}

void worker::run_timers(instant now)
{
    for (const auto &qp : qps_)
        if (qp->protocol->next_deadline() <= now)
            qp->protocol->on_timer(now);
}

bool worker::engines_ready()
{
    return std::ranges::all_of(distinct_engines_, [](transmit_engine *engine) { return engine->ready(); });
}

std::size_t worker::transmit(instant now)
{
    const std::size_t limit = 4 * std::size_t{options_.burst};
    std::size_t sent = transmit_endpoint_operations(now);
    std::size_t flushed = 0;
    bool progress = true;
    while (progress && sent < limit && engines_ready()) {
        progress = false;
        for (std::size_t i = 0; i < qps_.size(); ++i) {
            worker_qp &qp = *qps_[(first_qp_ + i) % qps_.size()];
            now = monotonic_now(); // time stamps as late as a burst allows
            for (std::uint32_t n = 0; n < options_.burst && engines_ready() && transmit_one(qp, now); ++n) {
                ++sent;
                progress = true;
            }
            // Port by port, a long queue would leave one plane's packets behind the others' answers: that looks like
            // loss.
            if (sent - flushed >= options_.burst) {
                flush();
                flushed = sent;
            }
        }
        first_qp_ = qps_.empty() ? 0 : (first_qp_ + 1) % qps_.size();
    }
    flush();
    return sent;
}

void worker::flush()
{
    for (transmit_engine *engine : distinct_engines_)
        engine->flush();
}

std::size_t worker::transmit_endpoint_operations(instant now)
{
    std::size_t sent = 0;
    while (!answers_.empty() && engines_ready()) {
        emit(answers_.back().to, answers_.back().packet);
        answers_.pop_back();
        ++sent;
    }
    for (const probe_targets::group &group : targets_.groups()) {
        while (engines_ready()) {
            const auto probe = group.paths->next_packet(now);
            if (!probe)
                break;
            emit(group.target, *probe);
            ++sent;
        }
    }
    return sent;
}

bool worker::transmit_one(worker_qp &qp, instant now)
{
    const std::optional<protocol::outgoing> packet = qp.protocol->next_packet(now);
    if (packet && !emit(qp.peer, *packet))
        qp.protocol->fail(protocol::completion_status::local_protection_error);
    return packet.has_value();
}

bool worker::emit(const worker_peer &to, const protocol::outgoing &packet)
{
    const mrc_path &path = (*io_.paths)[packet.path.value];
    transmit_engine *engine = path.port < io_.engines.size() ? io_.engines[path.port] : nullptr;
    if (engine == nullptr)
        return true; // a plane without a port here: lost like any packet, and inferred as such
    const std::span<std::byte> out = engine->reserve();
    const bool ipv4 = is_ipv4_mapped(to.address);
    const std::uint8_t dscp = options_.code_points[packet.dscp & 63U];
    if (packet.payload.bytes != 0) {
        const auto bytes = regions_.read(packet.payload.lkey, packet.payload.address, packet.payload.bytes);
        if (!bytes)
            return false;
        std::memcpy(out.data() + payload_offset(packet.content, ipv4), bytes->data(), bytes->size());
    }
    const auto size = encode(packet.content,
                             {.ip = {.source = options_.address, .destination = to.address},
                              .udp_port = options_.udp_port,
                              .dscp = dscp,
                              .ecn = packet.ecn,
                              .entropy = packet.entropy},
                             out);
    if (!size)
        return false;
    engine->commit({.path = packet.path.value,
                    .host_usid = to.host_usid,
                    .flow_label = packet.entropy.value & 0xFFFFFu,
                    .tclass = MRC_TCLASS(dscp, packet.ecn),
                    .next_header = ipv4 ? protocol_ipv4 : protocol_ipv6,
                    .bytes = static_cast<std::uint16_t>(*size)});
    return true;
}

void worker::add_peer(const worker_peer &peer)
{
    peers_.insert(std::ranges::upper_bound(peers_, peer, before), peer);
    targets_.add(peer);
}

void worker::watch_paths(instant now)
{
    for (const auto &qp : qps_)
        targets_.on_use(qp->peer, now);
    targets_.watch_overlay(now);
}

const worker_peer *worker::find_peer(const mrc_ip &address) const
{
    const auto at = std::ranges::lower_bound(peers_, worker_peer{.address = address}, before);
    return at != peers_.end() && same_address(at->address, address) ? &*at : nullptr;
}

// An EV probe goes back on the path whose EV it came with; host_rx answers most of them before they get here.
void worker::on_endpoint_packet(const decoded &packet, const protocol::arrival &how)
{
    const worker_peer *peer = find_peer(packet.source);
    if (peer == nullptr) {
        ++counters_.drops[MRC_AGENT_DROP_WRONG_PEER];
        return;
    }
    ++counters_.drops[MRC_AGENT_ACCEPTED];
    if (const auto *response = std::get_if<protocol::endpoint_response_packet>(&packet.content)) {
        peer->paths->on_packet(*response, how);
        targets_.on_answer(*peer, how.at);
        return;
    }
    const auto *request = std::get_if<protocol::endpoint_request_packet>(&packet.content);
    if (request == nullptr || request->operation != MRC_EP_EV_PROBE || answers_.size() == answers_.capacity())
        return;
    answers_.push_back({.to = *peer,
                        .packet = {.content = protocol::endpoint_response_packet{.request_id = request->request_id,
                                                                                 .operation = MRC_EP_EV_PROBE,
                                                                                 .tx_timestamp = request->tx_timestamp},
                                   .payload = {},
                                   .entropy = how.entropy,
                                   .path = how.path,
                                   .dscp = MRC_DSCP_CONTROL,
                                   .ecn = MRC_ECN_NOT_ECT}});
}

void worker::deliver_completions(worker_qp &qp)
{
    while (!qp.completions.full()) { // a client that does not poll keeps its requests outstanding, and loses nothing
        const auto done = qp.protocol->next_completion();
        if (!done)
            break;
        qp.completions.push({.id = done->id,
                             .bytes = done->bytes,
                             .status = static_cast<std::uint32_t>(done->status),
                             .qpn = qp.number.value});
        qp.completion_pending = true;
    }
    if (qp.completion_pending && qp.completions.consumer_waits())
        signal_event(qp.completion_event.get());
    qp.completion_pending = false;
}

} // namespace mrc::datapath
