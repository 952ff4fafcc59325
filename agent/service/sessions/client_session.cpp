// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_session.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "service/control/peer_capability.h"
#include "service/log.h"
#include "service/sessions/adoption_requests.h"
#include "service/sessions/client_pipes.h"
#include "service/sessions/client_process.h"
#include "service/sessions/client_regions.h"
#include "service/sessions/completion_queues.h"
#include "service/sessions/qp_states.h"
#include "service/sessions/queue_pairs.h"
#include "service/sessions/reports.h"
#include "service/sessions/ring_memory.h"

namespace mrc::service
{

namespace
{

static_assert(session::max_planes == MRC_MAX_PORTS);

// Clients are told apart by number for as long as the daemon runs; one thread serves them all.
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

// Whoever only asks that is no client, and has no place of one.
bool is_for_anybody(session::request_kind kind)
{
    using enum session::request_kind;
    return kind == hello || kind == describe || kind == adopt_cgroup || kind == list_adopted || kind == undo_adoption;
}

bool is_spoken(std::uint32_t version)
{
    return version >= session::oldest_session_version && version <= session::session_version;
}

answer refuse_version(std::uint32_t version)
{
    return refuse(EPROTO, fmt::format("a request of session version {}, and mrcd speaks {} to {}: {}", version,
                                      session::oldest_session_version, session::session_version,
                                      version > session::session_version
                                          ? "libmrc is newer than the mrcd that runs, which needs a restart"
                                          : "libmrc is too old for this mrcd"));
}

// Whoever asked has gone before the reply.
bool has_hung_up(int socket)
{
    pollfd at{.fd = socket, .events = 0, .revents = 0};
    return ::poll(&at, 1, 0) == 1 && (at.revents & POLLHUP) != 0;
}

} // namespace

client_session::client_session(session_resources shared, kernel::unique_fd socket,
                               std::shared_ptr<user_account> account, holding connection)
    : state_{shared, std::move(account), next_client()}, connection_{std::move(connection)}, socket_{std::move(socket)},
      connected_at_{boot_time_ns()}
{
}

client_session::~client_session()
{
    state_.shared.control.end_session(state_.number);
    state_.shared.adopted.end_session(state_.number);
    release_qps(state_);
    if (state_.worker_side != nullptr) {
        std::unique_ptr<datapath::worker_client> gone;
        state_.worker().call([&] { gone = state_.worker().remove_client(*state_.worker_side); });
    }
    release_regions(state_);
    drain_socket();
}

// What a client sent last may carry descriptors, too; they would be closed with the socket.
void client_session::drain_socket()
{
    shut_down(); // nothing more comes
    std::byte ignored{};
    for (;;) {
        std::array<kernel::unique_fd, session::most_passed_fds> fds;
        const auto received = session::receive_packet(socket_.get(), &ignored, sizeof(ignored), fds);
        if (!received || (received->bytes == 0 && received->fds == 0))
            return;
        for (std::size_t i = 0; i < received->fds; ++i)
            (void)unwanted_.add(std::move(fds[i]));
    }
}

bool client_session::serve()
{
    std::array<std::byte, session::most_control_bytes> packet;
    std::array<kernel::unique_fd, session::most_passed_fds> fds;
    const auto received = session::receive_packet(socket_.get(), packet.data(), packet.size(), fds);
    if (!received && (errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
    const bool gone = !received || received->bytes == 0;
    closes(gone ? MRC_REASON_CLIENT_GONE : MRC_REASON_VIOLATION); // unless it goes on
    if (!received)
        return false;
    const bool served = serve_packet({packet.data(), received->bytes}, *received, fds[0]);
    bool bearable = true;
    for (std::size_t i = 0; i < received->fds; ++i)
        if (fds[i])
            bearable = unwanted_.add(std::move(fds[i])) && bearable;
    if (served && bearable)
        closes(MRC_REASON_DAEMON_ENDS);
    else if (has_hung_up(socket_.get()))
        closes(MRC_REASON_CLIENT_GONE);
    return served && bearable;
}

void client_session::closes(mrc_event_reason why)
{
    if (listing_)
        listing_->closes(why);
}

bool client_session::serve_packet(std::span<const std::byte> bytes, const session::received_packet &how,
                                  kernel::unique_fd &fd)
{
    std::array<std::uint32_t, 2> head{}; // version and kind, of both protocols
    if (bytes.size() < sizeof(head) || how.bytes_cut)
        return false;
    std::memcpy(head.data(), bytes.data(), sizeof(head));
    if (how.fds_lost) { // without its descriptor the request would mean something else
        const answer refusal = refuse(EMFILE, "descriptors of the request are lost: there are too many");
        return session::send_packet(socket_.get(), &refusal.reply, sizeof(refusal.reply), {});
    }
    return head[1] < session::first_control_kind ? serve_request(bytes, fd) : serve_control(bytes);
}

bool client_session::serve_control(std::span<const std::byte> packet)
{
    const auto answered = state_.shared.control.handle(state_.number, socket_.get(), connected_at_, packet);
    if (!answered)
        return true;
    const std::vector<std::byte> &reply = *answered;
    session::control_request request;
    session::control_reply said;
    if (packet.size() >= sizeof(request) && reply.size() >= sizeof(said)) {
        std::memcpy(static_cast<void *>(&request), packet.data(), sizeof(request));
        std::memcpy(static_cast<void *>(&said), reply.data(), sizeof(said));
        if (request.kind == session::control_kind::subscribe_events && said.error == 0)
            add_subscription(state_, said.id, request.events.channel);
        if (request.kind == session::control_kind::unsubscribe_events)
            state_.subscriptions.erase(request.id);
    }
    return session::send_packet(socket_.get(), reply.data(), reply.size(), {});
}

// A client that leaves no room for it is ended by the daemon, who reads that the socket is shut down.
void client_session::send_reply(std::span<const std::byte> reply) const
{
    if (!session::send_packet(socket_.get(), reply.data(), reply.size(), {}))
        shut_down();
}

void client_session::shut_down() const
{
    ::shutdown(socket_.get(), SHUT_RDWR);
}

bool client_session::serve_request(std::span<const std::byte> packet, kernel::unique_fd &fd)
{
    session::session_request request;
    if (packet.size() != sizeof(request))
        return false;
    std::memcpy(static_cast<void *>(&request), packet.data(), sizeof(request));
    const answer answered = is_spoken(request.version) ? handle(request, fd) : refuse_version(request.version);
    if (listing_)
        listing_->update({.queue_pairs = static_cast<std::uint32_t>(state_.qps.size()),
                          .registered_bytes = state_.registered_bytes,
                          .shared_bytes = state_.shared_bytes});
    return session::send_packet(socket_.get(), &answered.reply, sizeof(answered.reply), answered.fds);
}

answer client_session::handle(const session::session_request &request, kernel::unique_fd &fd)
{
    if (!is_client() && !is_for_anybody(request.kind))
        return refuse(EPROTO, "a session begins with hello");
    switch (request.kind) {
    case session::request_kind::hello:
        return hello(fd);
    case session::request_kind::describe:
        return describe(state_);
    case session::request_kind::open_events:
        return open_events(state_);
    case session::request_kind::close_events:
        return close_events(state_, request.number);
    case session::request_kind::allocate_pd:
        return allocate_pd(state_);
    case session::request_kind::deallocate_pd:
        return deallocate_pd(state_, request.number);
    case session::request_kind::register_memory:
        return register_memory(state_, request.memory, fd);
    case session::request_kind::deregister_memory:
        return deregister_memory(state_, request.number);
    case session::request_kind::create_channel:
        return create_channel(state_);
    case session::request_kind::destroy_channel:
        return destroy_channel(state_, request.number);
    case session::request_kind::create_cq:
        return create_cq(state_, request.cq);
    case session::request_kind::destroy_cq:
        return destroy_cq(state_, request.number);
    case session::request_kind::create_qp:
        return create_qp(state_, request.create);
    case session::request_kind::modify_qp:
        return modify_qp(state_, request.qp);
    case session::request_kind::query_qp:
        return query_qp(state_, request.number);
    case session::request_kind::destroy_qp:
        return destroy_qp(state_, request.number);
    case session::request_kind::report_qp:
        return report_qp(state_, request.number);
    case session::request_kind::reset_progress:
        return reset_progress(state_, request.number);
    case session::request_kind::query_status:
        return query_status(state_);
    case session::request_kind::adopt_cgroup:
        return adopt_cgroup(state_, request.adopt, fd.get(), socket_.get(), who_asks());
    case session::request_kind::list_adopted:
        return list_adopted(state_, request.number);
    case session::request_kind::undo_adoption:
        return undo_adoption(state_, request.number, who_asks());
    }
    return refuse(EOPNOTSUPP, fmt::format("request {} is unknown to this mrcd, which speaks session version {}",
                                          static_cast<std::uint32_t>(request.kind), session::session_version));
}

asking_user client_session::who_asks() const
{
    return {.uid = state_.account->user(),
            .is_operator = control::check_net_admin(socket_.get(), connected_at_).has_value()};
}

answer client_session::hello(kernel::unique_fd &memory)
{
    if (is_client())
        return refuse(EPROTO, "hello was said already");
    const std::uint32_t most = state_.shared.config.limits.clients;
    auto place = take(state_, resource::clients, 1, most);
    if (!place) {
        if (state_.account->is_first_refusal())
            log::warn("user {}: {} clients are connected, which is limits.clients; more are refused",
                      state_.account->user(), most);
        return refuse(EUSERS,
                      fmt::format("{} clients of this user are connected, which is mrcd's limits.clients", most));
    }
    if (memory) {
        auto process = kernel::process_memory::adopt(std::move(memory));
        if (!process)
            return refuse(process.error().code, process.error().text);
        state_.process = std::move(*process);
    }
    const pid_t process = process_behind(socket_.get());
    state_.is_own_program = state_.shared.in_program && process == ::getpid();
    state_.seat = worker_crew::seat{state_.shared.workers};
    auto client = std::make_unique<datapath::worker_client>();
    client->doorbell = kernel::unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!client->doorbell || !state_.worker().hear(client->doorbell))
        return refuse(errno, "cannot create the doorbell of a client");
    state_.bells = sealed_memory("mrc-bells", sizeof(session::bell_page));
    client->bell_memory = map_whole(state_.bells, sizeof(session::bell_page));
    if (!client->bell_memory)
        return refuse(ENOMEM, "cannot allocate the bells of a client");

    client->number = state_.number;
    client->by_bell.resize(most_of_a_session(state_.shared.config.limits));
    client->active.reserve(most_of_a_session(state_.shared.config.limits));
    state_.worker_side = client.get();
    state_.worker().call([&] { state_.worker().add_client(std::move(client)); });
    place_ = std::move(*place);
    state_.client = row_of_client(process, state_.account->user());
    listing_.emplace(state_.shared.clients, state_.shared.log, state_.number, state_.client);
    answer result = describe(state_);
    result.fds = {state_.worker_side->doorbell.get(), state_.worker().status_fd(), state_.bells.get()};
    return result;
}

void client_session::notify(const session::event_record &event) const
{
    service::notify(state_, event);
}

void client_session::notify_subscription(std::uint64_t subscription) const
{
    service::notify_subscription(state_, subscription);
}

} // namespace mrc::service
