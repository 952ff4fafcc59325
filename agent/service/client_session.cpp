// SPDX-License-Identifier: Apache-2.0
#include "service/client_session.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "protocol/fixed_window.h"
#include "service/address.h"
#include "service/fd_passing.h"

namespace mrc::service
{

namespace
{

constexpr std::uint32_t most_send_depth = 65536;

template <typename T>
T random_value()
{
    T value{};
    [[maybe_unused]] const ssize_t got = ::getrandom(&value, sizeof(value), 0); // up to 256 bytes are never cut short
    return value;
}

session_reply refuse(int error, const std::string &text)
{
    session_reply reply;
    reply.error = error;
    text.copy(reply.text, sizeof(reply.text) - 1);
    return reply;
}

// Why a file cannot be registered; empty when it can.
std::string unfit_for_registration(int fd, const memory_request &request)
{
    struct stat status{};
    const int seals = ::fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        return "memory must be a memfd sealed with F_SEAL_SHRINK";
    struct statfs system{};
    if (::fstatfs(fd, &system) != 0 || system.f_type == HUGETLBFS_MAGIC) // a hole punched there can raise SIGBUS here
        return "memory on huge pages cannot be registered yet";
    if (::fstat(fd, &status) != 0)
        return "memory cannot be examined";
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (request.length == 0 || request.offset > size || request.length > size - request.offset)
        return "range is outside the memfd of " + std::to_string(size) + " bytes";
    if (request.offset % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) != 0)
        return "offset must be a multiple of the page size";
    if (request.va + request.length < request.va)
        return "address range wraps";
    return {};
}

} // namespace

client_session::client_session(session_resources shared, datapath::unique_fd socket)
    : shared_{shared}, socket_{std::move(socket)}
{
}

client_session::~client_session()
{
    for (const auto &[number, qp] : qps_)
        release_qp(qp);
    for (const std::uint32_t key : keys_) {
        datapath::memory_region region;
        shared_.worker.call([&] { region = shared_.worker.regions().remove(key); });
    }
}

bool client_session::serve()
{
    session_request request;
    std::array<datapath::unique_fd, 1> fds;
    const auto received = receive_packet(socket_.get(), &request, sizeof(request), fds);
    if (!received)
        return errno == EAGAIN;
    if (received->bytes != sizeof(request))
        return false;
    const answer answered = request.version == session_version
                                ? handle(request, std::move(fds[0]))
                                : answer{refuse(EPROTO, "session version " + std::to_string(request.version) +
                                                            ", mrcd speaks " + std::to_string(session_version)),
                                         {}};
    return send_packet(socket_.get(), &answered.reply, sizeof(answered.reply), answered.fds);
}

client_session::answer client_session::handle(const session_request &request, datapath::unique_fd fd)
{
    switch (request.kind) {
    case request_kind::hello:
        return hello();
    case request_kind::register_memory:
        return register_memory(request.memory, fd);
    case request_kind::deregister_memory:
        return deregister_memory(request.key);
    case request_kind::create_qp:
        return create_qp(request.create);
    case request_kind::connect_qp:
        return connect_qp(request.connect);
    case request_kind::query_qp:
        return query_qp(request.qpn);
    case request_kind::reset_progress:
        return reset_progress(request.qpn);
    case request_kind::destroy_qp:
        return destroy_qp(request.qpn);
    case request_kind::query_status:
        return query_status();
    }
    return {refuse(EOPNOTSUPP, "unknown request"), {}};
}

client_session::answer client_session::hello()
{
    answer result;
    result.reply.hello = {.address = shared_.rules.address_of(shared_.rules.self()),
                          .payload_bytes = shared_.payload_bytes,
                          .planes = shared_.rules.planes(),
                          .instance = {}};
    const std::string &name = shared_.config.daemon.instance;
    name.copy(result.reply.hello.instance, sizeof(hello_reply::instance) - 1);
    result.fds = {shared_.worker.doorbell_fd(), shared_.worker.status_fd()};
    return result;
}

client_session::answer client_session::register_memory(const memory_request &request, const datapath::unique_fd &file)
{
    if (!file)
        return {refuse(EINVAL, "memory registration needs a descriptor"), {}};
    if (const std::string problem = unfit_for_registration(file.get(), request); !problem.empty())
        return {refuse(EINVAL, problem), {}};
    if ((request.access & ~std::uint32_t{datapath::access_remote_write}) != 0)
        return {refuse(EINVAL, "unknown access flags"), {}};
    void *address = ::mmap(nullptr, request.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(),
                           static_cast<off_t>(request.offset));
    if (address == MAP_FAILED)
        return {refuse(errno, "memory cannot be mapped: " + std::string{std::strerror(errno)}), {}};

    datapath::memory_region region{
        .key = 0, .va = request.va, .access = request.access, .memory = {address, request.length}};
    answer result;
    shared_.worker.call([&] {
        const auto key = shared_.worker.regions().free_key(random_value<std::uint32_t>());
        result.reply.key = region.key = key.value_or(0);
        if (key)
            shared_.worker.regions().add(std::move(region));
    });
    if (result.reply.key == 0)
        return {refuse(ENOSPC, "all " + std::to_string(datapath::region_table::capacity) + " regions are in use"), {}};
    keys_.push_back(result.reply.key);
    return result;
}

client_session::answer client_session::deregister_memory(std::uint32_t key)
{
    const auto at = std::ranges::find(keys_, key);
    if (at == keys_.end())
        return {refuse(EINVAL, "no such memory key in this session"), {}};
    datapath::memory_region region;
    shared_.worker.call([&] { region = shared_.worker.regions().remove(key); });
    keys_.erase(at);
    return {};
}

std::uint32_t client_session::free_qpn() const
{
    for (unsigned int attempt = 0; attempt < 4 * MRC_MAX_QPS; ++attempt) {
        const std::uint32_t qpn = random_value<std::uint32_t>() & MRC_QPN_MASK;
        const bool reserved = qpn < MRC_QPN_FIRST_USABLE || qpn == MRC_QPN_MASK;
        if (!reserved && shared_.programs.qps()[MRC_QPN_ROW(qpn)].qpn == 0)
            return qpn;
    }
    return 0;
}

client_session::answer client_session::create_qp(const create_request &request)
{
    if (request.send_depth == 0 || request.send_depth > most_send_depth)
        return {refuse(EINVAL, "send depth " + std::to_string(request.send_depth) + " is not in 1…" +
                                   std::to_string(most_send_depth)),
                {}};
    owned_qp qp;
    qp.numbers.send_depth = std::bit_ceil(request.send_depth);
    qp.numbers.completion_depth = qp.numbers.send_depth;
    qp.numbers.first_psn = random_value<std::uint32_t>() & MRC_PSN_MASK;
    qp.numbers.qpn = free_qpn();
    if (qp.numbers.qpn == 0)
        return {refuse(ENOSPC, "all " + std::to_string(MRC_MAX_QPS) + " queue pairs are in use"), {}};

    const datapath::queue_pair_layout layout{.send_capacity = qp.numbers.send_depth,
                                             .completion_capacity = qp.numbers.completion_depth};
    qp.rings = datapath::unique_fd{::memfd_create("mrc-qp", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    // A pipe, not an eventfd: each end has its own flags, so no client can make the worker's write block.
    int ends[2] = {-1, -1};
    const bool piped = ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
    qp.completion_wait = datapath::unique_fd{ends[0]};
    qp.completion_event = datapath::unique_fd{ends[1]};
    if (!qp.rings || !piped || ::ftruncate(qp.rings.get(), static_cast<off_t>(layout.bytes())) != 0 ||
        ::fcntl(qp.rings.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return {refuse(errno, "cannot allocate the rings of a queue pair"), {}};

    // host_rx lets nothing in before the peer is known: the row stays without one, but taken.
    mrc_qp row{};
    row.qpn = qp.numbers.qpn;
    shared_.programs.qps()[MRC_QPN_ROW(row.qpn)] = row;
    answer result;
    result.reply.qp = qp.numbers;
    result.fds = {qp.rings.get(), qp.completion_wait.get()};
    qps_.emplace(qp.numbers.qpn, std::move(qp));
    return result;
}

std::unique_ptr<datapath::worker_qp> client_session::build_qp(owned_qp &qp, const connect_request &request,
                                                              const datapath::worker_peer &peer)
{
    const datapath::queue_pair_layout layout{.send_capacity = qp.numbers.send_depth,
                                             .completion_capacity = qp.numbers.completion_depth};
    void *rings = ::mmap(nullptr, layout.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, qp.rings.get(), 0);
    if (rings == MAP_FAILED)
        return nullptr;
    const transport_options &transport = shared_.config.transport;
    auto built = std::make_unique<datapath::worker_qp>();
    built->number = protocol::qpn{qp.numbers.qpn};
    built->peer = peer;
    built->rings = datapath::mapping{rings, layout.bytes()};
    built->sends = layout.sends(rings);
    built->completions = layout.completions(rings);
    built->completion_event = std::move(qp.completion_event);
    // A software fabric's rings hold 256 packets a port (veth): by default no more than that is in flight on a plane.
    const std::uint64_t automatic_window =
        std::uint64_t{128} * (shared_.payload_bytes + MRC_MAX_HEADERS) * shared_.rules.planes();
    built->congestion =
        std::make_unique<protocol::fixed_window>(transport.window_bytes ? *transport.window_bytes : automatic_window);
    built->protocol = std::make_unique<protocol::queue_pair>(
        protocol::qp_config{.local = built->number,
                            .peer = protocol::qpn{request.peer_qpn},
                            .first_send = protocol::psn{qp.numbers.first_psn},
                            .first_receive = protocol::psn{request.peer_psn},
                            .payload_bytes = shared_.payload_bytes,
                            .window_psns = transport.window_psns,
                            .send_queue_depth = qp.numbers.send_depth,
                            .retry = {.timeout_exponent = static_cast<std::uint8_t>(request.timeout),
                                      .linear = static_cast<std::uint8_t>(request.linear),
                                      .exponential = static_cast<std::uint8_t>(request.exponential)},
                            .trim_nack = shared_.config.peers.trim_nack,
                            .answer_trimmed = transport.trim_nack,
                            .nack_out_of_window = shared_.config.wire.oor == out_of_range::nack,
                            .seed = random_value<std::uint64_t>()},
        *peer.paths, shared_.worker.regions(), *built->congestion);
    return built;
}

client_session::answer client_session::connect_qp(const connect_request &request)
{
    const auto at = qps_.find(request.qpn);
    if (at == qps_.end())
        return {refuse(EINVAL, "no such queue pair in this session"), {}};
    if (at->second.connected)
        return {refuse(EISCONN, "queue pair is connected already"), {}};
    if (request.timeout > 24 || request.linear > 7 || request.exponential > 25)
        return {refuse(EINVAL, "allowed are timeout 0…24, linear 0…7, exponential 0…25"), {}};
    if (request.peer_qpn < MRC_QPN_FIRST_USABLE || request.peer_qpn >= MRC_QPN_MASK || request.peer_psn > MRC_PSN_MASK)
        return {refuse(EINVAL, "peer's queue pair number or PSN is out of range"), {}};
    const auto peer = shared_.peers.find_or_add(request.peer);
    if (!peer)
        return {refuse(EHOSTUNREACH, peer.error()), {}};
    std::unique_ptr<datapath::worker_qp> built = build_qp(at->second, request, *peer);
    if (!built)
        return {refuse(ENOMEM, "cannot map the rings of the queue pair"), {}};

    shared_.worker.call([&] { shared_.worker.add_qp(std::move(built)); });
    mrc_qp &row = shared_.programs.qps()[MRC_QPN_ROW(request.qpn)];
    row.peer_qpn = request.peer_qpn;
    row.mpr = shared_.config.transport.window_psns;
    row.peer = peer->address; // what the peer sends from, whichever of its addresses was named
    at->second.connected = true;
    return {};
}

void client_session::fill_paths(qp_report &report, const protocol::path_group &paths)
{
    report.planes = paths.planes();
    for (unsigned slot = 0; slot < paths.size(); ++slot) {
        const protocol::path_choice path = paths.path(slot);
        switch (paths.state(slot)) {
        case protocol::path_state::good:
            ++report.paths_good;
            break;
        case protocol::path_state::skip:
            ++report.paths_skip;
            break;
        case protocol::path_state::assumed_bad:
            ++report.paths_assumed_bad;
            break;
        case protocol::path_state::denied:
            ++report.paths_denied;
            break;
        }
        report.plane_tx_packets[path.lane.value] += paths.counters(slot).tx_packets;
        report.plane_rx_packets[path.lane.value] += shared_.programs.signals()[path.index.value].packets;
    }
}

client_session::answer client_session::query_qp(std::uint32_t qpn)
{
    const auto at = qps_.find(qpn);
    if (at == qps_.end() || !at->second.connected)
        return {refuse(EINVAL, "no such connected queue pair in this session"), {}};
    answer result;
    qp_report &report = result.reply.report;
    report = {};
    shared_.worker.call([&] {
        const datapath::worker_qp &qp = *shared_.worker.find_qp(protocol::qpn{qpn});
        const protocol::qp_counters &counters = qp.protocol->counters();
        report.rx_packets = counters.rx_packets;
        report.rx_bytes = counters.rx_bytes;
        report.rx_duplicates = counters.rx_duplicates;
        report.rx_refused = counters.rx_refused;
        report.tx_packets = counters.tx_packets;
        report.tx_bytes = counters.tx_bytes;
        report.retransmits = counters.retransmits;
        report.spurious = counters.spurious;
        report.timeouts = counters.timeouts;
        report.losses = counters.losses;
        report.nacks = counters.nacks;
        report.sacks_sent = counters.sacks_sent;
        report.sacks_received = counters.sacks_received;
        report.longest_stall_ns = static_cast<std::uint64_t>(qp.protocol->progress().longest_gap.count());
        report.smoothed_rtt_ns = static_cast<std::uint64_t>(qp.protocol->smoothed_rtt().count());
        report.cwnd_bytes = qp.congestion->cwnd();
        report.state = static_cast<std::uint32_t>(qp.protocol->state());
        fill_paths(report, *qp.peer.paths);
    });
    return result;
}

client_session::answer client_session::reset_progress(std::uint32_t qpn)
{
    const auto at = qps_.find(qpn);
    if (at == qps_.end() || !at->second.connected)
        return {refuse(EINVAL, "no such connected queue pair in this session"), {}};
    shared_.worker.call([&] { shared_.worker.find_qp(protocol::qpn{qpn})->protocol->reset_progress(); });
    return {};
}

void client_session::release_qp(const owned_qp &qp)
{
    shared_.programs.qps()[MRC_QPN_ROW(qp.numbers.qpn)].qpn = 0; // nothing more comes in
    std::unique_ptr<datapath::worker_qp> gone;
    if (qp.connected)
        shared_.worker.call([&] { gone = shared_.worker.remove_qp(protocol::qpn{qp.numbers.qpn}); });
    shared_.programs.qps()[MRC_QPN_ROW(qp.numbers.qpn)] = {};
}

client_session::answer client_session::destroy_qp(std::uint32_t qpn)
{
    const auto at = qps_.find(qpn);
    if (at == qps_.end())
        return {refuse(EINVAL, "no such queue pair in this session"), {}};
    release_qp(at->second);
    qps_.erase(at);
    return {};
}

client_session::answer client_session::query_status()
{
    answer result;
    status_report &status = result.reply.status;
    status = {};
    shared_.worker.call([&] {
        const datapath::worker_counters &counters = shared_.worker.counters();
        status.received = counters.received;
        status.bad_icrc = counters.drops[MRC_AGENT_DROP_BAD_ICRC];
        for (std::uint32_t verdict = MRC_AGENT_ACCEPTED + 1; verdict < MRC_VERDICT_COUNT; ++verdict)
            status.dropped += counters.drops[verdict];
        status.worker_loops = counters.loops;
        status.worker_sleeps = counters.sleeps;
        const auto sent = shared_.ports.transmitted();
        status.transmit_sent = sent.sent;
        status.transmit_refused = sent.refused;
    });
    status.socket_dropped = shared_.ports.socket_drops();
    status.plane_mask = shared_.programs.host()[0].plane_mask;
    status.qps = static_cast<std::uint32_t>(qps_.size());
    return result;
}

} // namespace mrc::service
