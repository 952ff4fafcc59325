// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_session.h"

#include <array>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "session/fd_passing.h"

namespace mrc::service
{

namespace
{

// Clients are told apart by number for as long as the daemon runs; one thread serves them all.
static_assert(session::max_planes == MRC_MAX_PORTS);

std::uint32_t next_client()
{
    static std::uint32_t last = 0;
    return ++last;
}

std::uint64_t boot_time_ns()
{
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace

session::session_reply refuse(int error, const std::string &text)
{
    session::session_reply reply;
    reply.error = error;
    text.copy(reply.text, sizeof(reply.text) - 1);
    return reply;
}

std::uint32_t random_word()
{
    std::uint32_t word = 0;
    [[maybe_unused]] const ssize_t got = ::getrandom(&word, sizeof(word), 0); // up to 256 bytes are never cut short
    return word;
}

client_session::client_session(session_resources shared, kernel::unique_fd socket,
                               std::shared_ptr<user_account> account, holding place)
    : shared_{shared}, account_{std::move(account)}, place_{std::move(place)}, socket_{std::move(socket)},
      number_{next_client()}, connected_at_{boot_time_ns()}
{
}

client_session::~client_session()
{
    shared_.control.end_session(number_);
    for (auto &[qpn, qp] : qps_) {
        release_qp(qp);
        let_go_of_profiles(qp.now);
    }
    if (client_ != nullptr) {
        std::unique_ptr<datapath::worker_client> gone;
        shared_.worker.call([&] { gone = shared_.worker.remove_client(*client_); });
    }
    for (const auto &[key, region] : regions_) {
        datapath::memory_region gone;
        shared_.worker.call([&] { gone = shared_.worker.regions().remove(key); });
    }
    drain_socket();
}

// What a client sent last may carry descriptors, too; they would be closed with the socket.
void client_session::drain_socket()
{
    ::shutdown(socket_.get(), SHUT_RDWR); // nothing more comes
    std::byte ignored{};
    for (;;) {
        std::array<kernel::unique_fd, session::most_passed_fds> fds;
        const auto received = session::receive_packet(socket_.get(), &ignored, sizeof(ignored), fds);
        if (!received || (received->bytes == 0 && received->fds == 0))
            return;
        for (std::size_t i = 0; i < received->fds; ++i)
            (void)strays_.add(std::move(fds[i]));
    }
}

std::optional<holding> client_session::take(resource what, std::uint64_t amount, std::uint64_t limit) const
{
    return holding::take(account_, what, amount, limit);
}

bool client_session::serve()
{
    std::array<std::byte, session::most_control_bytes> packet;
    std::array<kernel::unique_fd, session::most_passed_fds> fds;
    const auto received = session::receive_packet(socket_.get(), packet.data(), packet.size(), fds);
    if (!received)
        return errno == EAGAIN || errno == EWOULDBLOCK;
    const bool served = serve_packet({packet.data(), received->bytes}, *received, fds[0]);
    bool bearable = true;
    for (std::size_t i = 0; i < received->fds; ++i)
        if (fds[i])
            bearable = strays_.add(std::move(fds[i])) && bearable;
    return served && bearable;
}

bool client_session::serve_packet(std::span<const std::byte> bytes, const session::received_packet &how,
                                  kernel::unique_fd &fd)
{
    std::array<std::uint32_t, 2> head{}; // version and kind, of both protocols
    if (bytes.size() < sizeof(head) || how.bytes_cut)
        return false;
    std::memcpy(head.data(), bytes.data(), sizeof(head));
    if (how.fds_lost) { // without its descriptor the request would mean something else
        const session::session_reply refusal =
            refuse(EMFILE, "descriptors of the request are lost: there are too many");
        return session::send_packet(socket_.get(), &refusal, sizeof(refusal), {});
    }
    return head[1] < session::first_control_kind ? serve_request(bytes, fd) : serve_control(bytes);
}

bool client_session::serve_control(std::span<const std::byte> packet)
{
    const auto answered = shared_.control.handle(number_, socket_.get(), connected_at_, packet);
    if (!answered)
        return true;
    const std::vector<std::byte> &reply = *answered;
    session::control_request request;
    session::control_reply said;
    if (packet.size() >= sizeof(request) && reply.size() >= sizeof(said)) {
        std::memcpy(static_cast<void *>(&request), packet.data(), sizeof(request));
        std::memcpy(static_cast<void *>(&said), reply.data(), sizeof(said));
        const auto channel = channels_.find(request.events.channel);
        if (request.kind == session::control_kind::subscribe_events && said.error == 0 && channel != channels_.end())
            subscriptions_[said.id] = channel->second.pipe;
        if (request.kind == session::control_kind::unsubscribe_events)
            subscriptions_.erase(request.id);
    }
    return session::send_packet(socket_.get(), reply.data(), reply.size(), {});
}

// A client that leaves no room for it is ended by the daemon, who reads that the socket is shut down.
void client_session::send_reply(std::span<const std::byte> reply) const
{
    if (!session::send_packet(socket_.get(), reply.data(), reply.size(), {}))
        ::shutdown(socket_.get(), SHUT_RDWR);
}

void client_session::tell_subscription(std::uint64_t subscription) const
{
    if (const auto at = subscriptions_.find(subscription); at != subscriptions_.end())
        at->second->tell(
            {session::event_kind{}, session::ev_event_queue_bit | static_cast<std::uint32_t>(subscription)});
}

bool client_session::serve_request(std::span<const std::byte> packet, kernel::unique_fd &fd)
{
    session::session_request request;
    if (packet.size() != sizeof(request))
        return false;
    std::memcpy(static_cast<void *>(&request), packet.data(), sizeof(request));
    const answer answered =
        request.version == session::session_version
            ? handle(request, fd)
            : answer{refuse(EPROTO, "session version " + std::to_string(request.version) + ", mrcd speaks " +
                                        std::to_string(session::session_version)),
                     {}};
    return session::send_packet(socket_.get(), &answered.reply, sizeof(answered.reply), answered.fds);
}

client_session::answer client_session::handle(const session::session_request &request, kernel::unique_fd &fd)
{
    if (client_ == nullptr && request.kind != session::request_kind::hello)
        return {refuse(EPROTO, "a session begins with hello"), {}};
    switch (request.kind) {
    case session::request_kind::hello:
        return hello(fd);
    case session::request_kind::describe:
        return describe();
    case session::request_kind::open_events:
        return open_events();
    case session::request_kind::close_events:
        return close_events(request.number);
    case session::request_kind::allocate_pd:
        return allocate_pd();
    case session::request_kind::deallocate_pd:
        return deallocate_pd(request.number);
    case session::request_kind::register_memory:
        return register_memory(request.memory, fd);
    case session::request_kind::deregister_memory:
        return deregister_memory(request.number);
    case session::request_kind::create_channel:
        return create_channel();
    case session::request_kind::destroy_channel:
        return destroy_channel(request.number);
    case session::request_kind::create_cq:
        return create_cq(request.cq);
    case session::request_kind::destroy_cq:
        return destroy_cq(request.number);
    case session::request_kind::create_qp:
        return create_qp(request.create);
    case session::request_kind::modify_qp:
        return modify_qp(request.qp);
    case session::request_kind::query_qp:
        return query_qp(request.number);
    case session::request_kind::destroy_qp:
        return destroy_qp(request.number);
    case session::request_kind::report_qp:
        return report_qp(request.number);
    case session::request_kind::reset_progress:
        return reset_progress(request.number);
    case session::request_kind::query_status:
        return query_status();
    }
    return {refuse(EOPNOTSUPP, "unknown request"), {}};
}

client_session::answer client_session::hello(kernel::unique_fd &memory)
{
    if (client_ != nullptr)
        return {refuse(EPROTO, "hello was said already"), {}};
    if (memory) {
        auto process = kernel::process_memory::adopt(std::move(memory));
        if (!process)
            return {refuse(process.error().code, process.error().text), {}};
        process_ = std::move(*process);
    }
    auto client = std::make_unique<datapath::worker_client>();
    client->doorbell = kernel::unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!client->doorbell || !shared_.worker.hear(client->doorbell))
        return {refuse(errno, "cannot create the doorbell of a client"), {}};
    bells_ = kernel::unique_fd{::memfd_create("mrc-bells", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    void *page = MAP_FAILED;
    if (bells_ && ::ftruncate(bells_.get(), sizeof(session::bell_page)) == 0 &&
        ::fcntl(bells_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        page = ::mmap(nullptr, sizeof(session::bell_page), PROT_READ | PROT_WRITE, MAP_SHARED, bells_.get(), 0);
    if (page == MAP_FAILED)
        return {refuse(errno, "cannot allocate the bells of a client"), {}};

    client->number = number_;
    client->bell_memory = kernel::mapping{page, sizeof(session::bell_page)};
    client->by_bell.resize(shared_.config.limits.queue_pairs);
    client->active.reserve(shared_.config.limits.queue_pairs);
    client_ = client.get();
    shared_.worker.call([&] { shared_.worker.add_client(std::move(client)); });
    answer result = describe();
    result.fds = {client_->doorbell.get(), shared_.worker.status_fd(), bells_.get()};
    return result;
}

client_session::answer client_session::describe() const
{
    answer result;
    const limit_options &limits = shared_.config.limits;
    session::host_reply &host = result.reply.host;
    host = {};
    host.address = shared_.rules.address_of(shared_.rules.self());
    host.address4 = shared_.rules.address4_of(shared_.rules.self()).value_or(mrc_ip{});
    host.payload_bytes = shared_.payload_bytes;
    host.planes = shared_.rules.planes();
    host.guid = host_ports::guid(shared_.links);
    for (std::size_t i = 0; i < shared_.config.ports.size(); ++i) {
        const protocol::plane plane = shared_.config.ports[i].plane;
        const bool enabled = shared_.local.enabled.has(plane);
        host.ports[plane.value] = {.up = static_cast<std::uint8_t>(enabled && shared_.local.up.has(plane)),
                                   .enabled = static_cast<std::uint8_t>(enabled),
                                   .mtu = static_cast<std::uint16_t>(shared_.links.ports()[i].mtu),
                                   .gbps = shared_.config.transport.link_gbps};
    }
    host.max_qps = limits.queue_pairs;
    host.max_regions = limits.memory_regions;
    host.max_bytes = limits.memory_bytes;
    host.max_cqs = limits.completion_queues;
    host.max_cq_entries = limits.completion_entries;
    host.max_requests = limits.work_requests;
    host.max_pieces = most_pieces;
    host.max_inline = most_inline;
    host.max_mpr = shared_.config.transport.window_psns / MRC_MPR_UNIT;
    host.max_wimm = most_immediates;
    host.process_memory = process_ ? 1 : 0;
    const std::string &name = shared_.config.daemon.instance;
    name.copy(host.instance, sizeof(host.instance) - 1);
    return result;
}

client_session::answer client_session::open_events()
{
    int ends[2] = {-1, -1};
    auto held = take(resource::event_pipes, 1, shared_.config.limits.completion_queues);
    if (!held)
        return {refuse(ENOSPC, "all event pipes of a user are in use"), {}};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return {refuse(errno, "cannot open a pipe for events"), {}};
    kernel::unique_fd wait{ends[0]};
    auto pipe = std::make_shared<const datapath::client_pipe>(kernel::unique_fd{ends[1]});
    answer result;
    result.reply.number = ++last_number_;
    result.fds = {wait.get()};
    events_.emplace(result.reply.number, owned_events{std::move(pipe), std::move(wait), std::move(*held)});
    return result;
}

client_session::answer client_session::close_events(std::uint32_t number)
{
    if (events_.erase(number) == 0) // queues that tell there keep their end
        return {refuse(EINVAL, "no such event pipe in this session"), {}};
    return {};
}

std::shared_ptr<const datapath::client_pipe> client_session::events_of(std::uint32_t number) const
{
    const auto at = events_.find(number);
    return at == events_.end() ? nullptr : at->second.pipe;
}

void client_session::tell(const session::event_record &event) const
{
    for (const auto &[number, events] : events_)
        events.pipe->tell(event);
}

client_session::answer client_session::allocate_pd()
{
    auto held = take(resource::protection_domains, 1, shared_.config.limits.memory_regions);
    if (!held)
        return {refuse(ENOSPC, "all protection domains of a user are in use"), {}};
    answer result;
    result.reply.number = ++last_number_;
    domains_.emplace(result.reply.number, owned_domain{.held = std::move(*held)});
    return result;
}

client_session::answer client_session::deallocate_pd(std::uint32_t number)
{
    const auto at = domains_.find(number);
    if (at == domains_.end())
        return {refuse(EINVAL, "no such protection domain in this session"), {}};
    if (at->second.users != 0)
        return {refuse(EBUSY, "memory or queue pairs use the protection domain"), {}};
    domains_.erase(at);
    return {};
}

} // namespace mrc::service
