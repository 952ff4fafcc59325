// SPDX-License-Identifier: Apache-2.0
#include "messaging/fabric_endpoint.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "messaging/failure.h"
#include "messaging/open_device.h"
#include "mrc/memory.h"
#include "mrc/wait.h"

namespace mrc::messaging
{

namespace
{

constexpr std::chrono::milliseconds farewell_limit{1000};
constexpr std::chrono::milliseconds cut_limit{200};
constexpr std::chrono::milliseconds tick_interval{1000};
constexpr int aside_ms = 1;

void make_nonblocking(int fd)
{
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

} // namespace

// The ring and the staging area, which the daemon maps.
struct fabric_connection::shared_memory {
    struct freed {
        void operator()(void *memory) const { (void)::mrc_free_shared(memory); }
    };
    std::unique_ptr<std::byte, freed> bytes;
    owned_region region;

    shared_memory(ibv_pd *pd, std::size_t size) : bytes{static_cast<std::byte *>(::mrc_alloc_shared(size))}
    {
        if (bytes)
            region.reset(verbs().reg_mr(pd, bytes.get(), size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
        if (!region)
            throw messaging_failure{"no memory for a connection: " + failure_reason()};
    }
};

fabric_connection::fabric_connection(std::unique_ptr<shared_memory> memory, std::unique_ptr<verbs_queue> queue,
                                     const ring_shape &shape, connection_listener &listener)
    : memory_{std::move(memory)}, queue_{std::move(queue)},
      ring_{*queue_,
            shape,
            {.ring = {memory_->bytes.get(), shape.bytes()},
             .staging = {memory_->bytes.get() + shape.bytes(), shape.bytes()},
             .lkey = memory_->region->lkey},
            listener}
{
}

fabric_connection::~fabric_connection() = default;

fabric_endpoint::fabric_endpoint(const ring_shape &shape)
    : shape_{shape}, wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      cache_{[this](registered_range &range) { return register_range(range); }}
{
    if (!wake_)
        throw messaging_failure{std::string{"cannot make an eventfd: "} + std::strerror(errno)};
    opened_device opened = open_device();
    verbs_ = std::move(opened.verbs);
    pd_ = std::move(opened.pd);
    context_ = std::move(opened.context);
    gid_ = opened.gid;
    text_ = std::move(opened.text);
    mrc_comp_channel *channel = nullptr;
    if (::mrc_create_comp_channel(context_.get(), &channel) != 0)
        throw messaging_failure{"cannot make a completion channel: " + failure_reason()};
    channel_.reset(channel);
    if (::mrc_get_comp_channel_fd(channel, &channel_fd_) != 0)
        throw messaging_failure{"cannot use a completion channel: " + failure_reason()};
    make_nonblocking(channel_fd_);
    make_nonblocking(verbs_->async_fd);
    next_tick_ = clock::now() + tick_interval;
    thread_ = std::jthread{[this](const std::stop_token &stop) { run(stop); }};
}

fabric_endpoint::~fabric_endpoint()
{
    {
        lock_type held = lock();
        while (!open_.empty())
            begin_closing(open_.front().get(), farewell_limit, false);
        closed_.wait(held, [this] { return closing_.empty(); });
    }
    thread_.request_stop();
    wake();
}

fabric_connection *fabric_endpoint::open(connection_listener &listener)
{
    auto memory = std::make_unique<fabric_connection::shared_memory>(pd_.get(), 2 * shape_.bytes());
    auto queue = std::make_unique<verbs_queue>(context_.get(), pd_.get(), channel_.get(), shape_);
    const peer_address address{.ring_slots = shape_.slots,
                               .slot_bytes = shape_.slot_bytes,
                               .qpn = queue->qpn(),
                               .first_psn = queue->first_psn(),
                               .gid = gid_,
                               .ring = reinterpret_cast<std::uintptr_t>(memory->bytes.get()),
                               .rkey = memory->region->rkey};
    std::unique_ptr<fabric_connection> made{
        new fabric_connection{std::move(memory), std::move(queue), shape_, listener}};
    made->address_ = address;
    const lock_type held = lock();
    by_queue_.emplace(made->queue_->cq(), made.get());
    open_.push_back(std::move(made));
    fabric_connection *connection = open_.back().get();
    if (gone_)
        connection->ring_.fail(daemon_gone);
    else
        (void)connection->ring_.prepare();
    return connection;
}

bool fabric_endpoint::connect(fabric_connection &connection, const peer_address &peer)
{
    if (connection.ring_.failed())
        return false;
    if (!connection.queue_->connect(peer)) {
        connection.ring_.fail("cannot be connected: " + failure_reason());
        return false;
    }
    connection.ring_.start({.slots = peer.ring_slots, .slot_bytes = peer.slot_bytes}, peer.ring, peer.rkey);
    return !connection.ring_.failed();
}

void fabric_endpoint::close(fabric_connection *connection)
{
    begin_closing(connection, farewell_limit, false);
}

void fabric_endpoint::cut(std::span<fabric_connection *const> connections, lock_type &lock)
{
    for (fabric_connection *one : connections)
        begin_closing(one, cut_limit, true);
    closed_.wait(lock, [&] {
        return std::ranges::none_of(
            closing_, [&](const auto &one) { return std::ranges::find(connections, one.get()) != connections.end(); });
    });
}

void fabric_endpoint::cut_later(fabric_connection *connection, std::function<void()> after)
{
    connection->after_ = std::move(after);
    begin_closing(connection, cut_limit, true);
}

void fabric_endpoint::begin_closing(fabric_connection *connection, clock::duration limit, bool quick)
{
    const auto place = std::ranges::find(open_, connection, &std::unique_ptr<fabric_connection>::get);
    if (place == open_.end())
        return;
    connection->ring_.detach();
    connection->ring_.farewell();
    connection->close_by_ = clock::now() + limit;
    connection->quick_ = quick;
    closing_.splice(closing_.end(), open_, place);
    wake();
}

void fabric_endpoint::end_closing(clock::time_point now)
{
    const auto ended = [&](const std::unique_ptr<fabric_connection> &one) {
        ring_connection &ring = one->ring_;
        const bool done = ring.failed() || !ring.started() || now >= one->close_by_ ||
                          (!ring.under_way() && (one->quick_ || ring.farewell_arrived()));
        if (done)
            by_queue_.erase(one->queue_->cq());
        return done;
    };
    for (auto at = closing_.begin(); at != closing_.end();) {
        if (!ended(*at)) {
            ++at;
            continue;
        }
        if ((*at)->ring_.under_way())
            (*at)->queue_->abandon(); // before what its WRITEs read is given back
        const std::function<void()> after = std::move((*at)->after_);
        at = closing_.erase(at);
        if (after)
            after();
        closed_.notify_all();
    }
}

void fabric_endpoint::run(const std::stop_token &stop)
{
    int limit_ms = 0;
    while (!stop.stop_requested()) {
        const bool aside = polled_.exchange(false);
        aside_.store(aside);
        if (aside)
            limit_ms = std::min(limit_ms, aside_ms);
        std::array<pollfd, 3> fds{pollfd{.fd = gone_ || aside ? -1 : channel_fd_, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = gone_ ? -1 : verbs_->async_fd, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
        const timespec limit{.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1'000'000L};
        if (aside)
            (void)::ppoll(fds.data(), fds.size(), &limit, nullptr);
        else
            (void)::mrc_poll_events(channel_.get(), fds.data(), fds.size(), &limit);
        std::uint64_t times = 0;
        if (fds[2].revents != 0)
            (void)!::read(wake_.get(), &times, sizeof(times));
        const lock_type held = lock();
        if (fds[0].revents != 0)
            take_events();
        if (fds[1].revents != 0)
            check_device();
        const clock::time_point now = clock::now();
        tick(now);
        end_closing(now);
        limit_ms = wait_ms(now);
    }
}

void fabric_endpoint::poll()
{
    polled_.store(true, std::memory_order_relaxed);
    const lock_type held{mutex_, std::try_to_lock}; // who has it brings it, or will not take long
    if (held && !gone_)
        take_events();
}

void fabric_endpoint::stop_polling()
{
    polled_.store(false, std::memory_order_relaxed);
    if (aside_.load())
        wake();
}

int fabric_endpoint::wait_ms(clock::time_point now)
{
    clock::time_point next = next_tick_;
    for (const auto &one : closing_)
        next = std::min(next, one->close_by_);
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(std::max(next - now, {})).count());
}

void fabric_endpoint::take_events()
{
    mrc_cq *cq = nullptr;
    void *nothing = nullptr;
    while (::mrc_get_cq_event(channel_.get(), &cq, &nothing) == 0) {
        ::mrc_ack_cq_events(cq, 1);
        if (const auto found = by_queue_.find(cq); found != by_queue_.end())
            found->second->queue_->take_completions(found->second->ring_);
    }
}

void fabric_endpoint::check_device()
{
    ibv_async_event event{};
    while (!gone_ &&
           verbs().get_async_event(verbs_.get(), &event) == 0) // of the device and its ports: none to acknowledge
        gone_ = event.event_type == IBV_EVENT_DEVICE_FATAL;
    if (gone_)
        for (const connection_list *list : {&open_, &closing_})
            for (const auto &one : *list)
                one->ring_.fail(daemon_gone);
}

void fabric_endpoint::tick(clock::time_point now)
{
    if (now < next_tick_)
        return;
    next_tick_ = now + tick_interval;
    for (const auto &one : open_)
        one->ring_.tick();
}

void fabric_endpoint::wake() const
{
    const std::uint64_t once = 1;
    (void)!::write(wake_.get(), &once, sizeof(once));
}

held_range fabric_endpoint::register_apart(const void *address, std::size_t bytes)
{
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    registered_range range{
        .begin = first, .end = first + bytes, .use = region_use::target, .lkey = 0, .rkey = 0, .owner = {}};
    return register_range(range) ? std::make_shared<const registered_range>(std::move(range)) : nullptr;
}

bool fabric_endpoint::register_range(registered_range &range)
{
    const int access = range.use == region_use::target ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address
    owned_region made{
        verbs().reg_mr(pd_.get(), reinterpret_cast<void *>(range.begin), range.end - range.begin, access)};
    if (!made)
        return false;
    range.lkey = made->lkey;
    range.rkey = made->rkey;
    range.owner = std::move(made);
    return true;
}

} // namespace mrc::messaging
