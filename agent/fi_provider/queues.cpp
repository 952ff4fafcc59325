// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/queues.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <poll.h>
#include <sys/eventfd.h>

#include "fi_provider/passive_endpoint.h"
#include "fi_provider/refusals.h"
#include "messaging/failure.h"

namespace mrc::fi_provider
{

namespace
{

fi_event_queue &queue_of(fid_eq *of)
{
    return *static_cast<fi_event_queue *>(of);
}

completion_queue &queue_of(fid_cq *of)
{
    return *static_cast<completion_queue *>(of);
}

template <typename Queue, typename Handle>
fi_ops common_ops()
{
    return {.size = sizeof(fi_ops),
            .close = [](fid *of) { return close_unused(static_cast<Queue *>(reinterpret_cast<Handle *>(of))); },
            .bind = refuse_bind,
            .control =
                [](fid *of, int command, void *into) {
                    auto &queue = *static_cast<Queue *>(reinterpret_cast<Handle *>(of));
                    if (command == FI_GETWAITOBJ)
                        *static_cast<fi_wait_obj *>(into) = queue.has_fd() ? FI_WAIT_FD : FI_WAIT_NONE;
                    else if (command == FI_GETWAIT && queue.has_fd())
                        *static_cast<int *>(into) = queue.fd();
                    else
                        return -FI_ENOSYS;
                    return 0;
                },
            .ops_open = refuse_ops,
            .tostr = nullptr,
            .ops_set = nullptr};
}

const char *say(int code, char *into, std::size_t bytes)
{
    const char *words = fi_strerror(code);
    if (into != nullptr && bytes > 0)
        into[std::string{words}.copy(into, bytes - 1)] = '\0';
    return words;
}

fi_ops event_queue_ops = common_ops<fi_event_queue, fid_eq>();
fi_ops_eq event_ops{
    .size = sizeof(fi_ops_eq),
    .read = [](fid_eq *eq, std::uint32_t *event, void *into, std::size_t bytes,
               std::uint64_t flags) { return queue_of(eq).read(event, into, bytes, flags); },
    .readerr = [](fid_eq *eq, fi_eq_err_entry *into,
                  std::uint64_t flags) { return queue_of(eq).read_failure(into, flags); },
    .write = [](fid_eq *, std::uint32_t, const void *, std::size_t, std::uint64_t) -> ssize_t { return -FI_ENOSYS; },
    .sread = [](fid_eq *eq, std::uint32_t *event, void *into, std::size_t bytes, int timeout_ms,
                std::uint64_t flags) { return queue_of(eq).wait(event, into, bytes, timeout_ms, flags); },
    .strerror = [](fid_eq *, int code, const void *, char *into, std::size_t bytes) { return say(code, into, bytes); }};

fi_ops completion_queue_ops = common_ops<completion_queue, fid_cq>();
fi_ops_cq completion_ops{
    .size = sizeof(fi_ops_cq),
    .read = [](fid_cq *cq, void *into, std::size_t count) { return queue_of(cq).read(into, count); },
    .readfrom = [](fid_cq *cq, void *into, std::size_t count, fi_addr_t *from) -> ssize_t {
        const ssize_t got = queue_of(cq).read(into, count);
        for (ssize_t i = 0; from != nullptr && i < got; ++i)
            from[i] = FI_ADDR_NOTAVAIL;
        return got;
    },
    .readerr = [](fid_cq *cq, fi_cq_err_entry *into, std::uint64_t) { return queue_of(cq).read_failure(into); },
    .sread = [](fid_cq *cq, void *into, std::size_t count, const void *,
                int timeout_ms) { return queue_of(cq).wait(into, count, timeout_ms); },
    .sreadfrom = [](fid_cq *cq, void *into, std::size_t count, fi_addr_t *from, const void *,
                    int timeout_ms) -> ssize_t {
        const ssize_t got = queue_of(cq).wait(into, count, timeout_ms);
        for (ssize_t i = 0; from != nullptr && i < got; ++i)
            from[i] = FI_ADDR_NOTAVAIL;
        return got;
    },
    .signal =
        [](fid_cq *cq) {
            queue_of(cq).signal();
            return 0;
        },
    .strerror = [](fid_cq *, int code, const void *, char *into, std::size_t bytes) { return say(code, into, bytes); }};

std::size_t bytes_of(fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_MSG:
        return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(fi_cq_tagged_entry);
    default:
        return sizeof(fi_cq_entry);
    }
}

// Of a failure, what programs of every version have room for: libfabric 1.20 added a source address at the end.
constexpr std::size_t failure_bytes = offsetof(fi_cq_err_entry, err_data_size) + sizeof(std::size_t);

} // namespace

wait_fd::wait_fd() : fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
{
    if (!fd_)
        throw messaging::messaging_failure{std::string{"cannot make an eventfd: "} + std::strerror(errno)};
}

void wait_fd::set() const
{
    (void)::eventfd_write(fd_.get(), 1);
}

void wait_fd::clear() const
{
    eventfd_t times = 0;
    (void)::eventfd_read(fd_.get(), &times);
}

bool wait_fd::wait(int timeout_ms) const
{
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, timeout_ms) > 0;
}

fi_event_queue::fi_event_queue(used &fabric, void *context)
    : fid_eq{.fid = {.fclass = FI_CLASS_EQ, .context = context, .ops = &event_queue_ops}, .ops = &event_ops},
      fabric_use_{fabric}
{
}

void fi_event_queue::add(entry what)
{
    const std::lock_guard held{mutex_};
    entries_.push_back(std::move(what));
    ready_.set();
}

void fi_event_queue::connection_event(std::uint32_t event, fid_t of, fi_info *info, std::span<const std::byte> data)
{
    add({.event = event, .of = of, .info = info, .data = {data.begin(), data.end()}});
}

void fi_event_queue::failure(fid_t of, int error, std::span<const std::byte> data)
{
    add({.error = error, .of = of, .data = {data.begin(), data.end()}});
}

ssize_t fi_event_queue::read(std::uint32_t *event, void *into, std::size_t bytes, std::uint64_t flags)
{
    const std::lock_guard held{mutex_};
    if (entries_.empty())
        return -FI_EAGAIN;
    entry &front = entries_.front();
    if (front.error != 0)
        return -FI_EAVAIL;
    if (bytes < sizeof(fi_eq_cm_entry))
        return -FI_ETOOSMALL;
    auto *told = static_cast<fi_eq_cm_entry *>(into);
    told->fid = front.of;
    told->info = front.info;
    const std::size_t copied = std::min(front.data.size(), bytes - sizeof(fi_eq_cm_entry));
    std::copy_n(front.data.begin(), copied, reinterpret_cast<std::byte *>(told + 1));
    *event = front.event;
    if ((flags & FI_PEEK) == 0)
        entries_.pop_front();
    if (entries_.empty())
        ready_.clear();
    return static_cast<ssize_t>(sizeof(fi_eq_cm_entry) + copied);
}

ssize_t fi_event_queue::read_failure(fi_eq_err_entry *into, std::uint64_t flags)
{
    const std::lock_guard held{mutex_};
    if (entries_.empty() || entries_.front().error == 0)
        return -FI_EAGAIN;
    const entry &front = entries_.front();
    told_ = front.data;
    into->fid = front.of;
    into->context = front.of->context;
    into->data = 0;
    into->err = front.error;
    into->prov_errno = front.error;
    // A program that gives room for the data has them copied, as libfabric has it since 1.5.
    if (into->err_data != nullptr && into->err_data_size > 0) {
        into->err_data_size = std::min(into->err_data_size, told_.size());
        std::copy_n(told_.begin(), into->err_data_size, static_cast<std::byte *>(into->err_data));
    } else {
        into->err_data = told_.empty() ? nullptr : told_.data();
        into->err_data_size = told_.size();
    }
    if ((flags & FI_PEEK) == 0)
        entries_.pop_front();
    if (entries_.empty())
        ready_.clear();
    return sizeof(fi_eq_err_entry);
}

ssize_t fi_event_queue::wait(std::uint32_t *event, void *into, std::size_t bytes, int timeout_ms, std::uint64_t flags)
{
    if (const ssize_t got = read(event, into, bytes, flags); got != -FI_EAGAIN)
        return got;
    (void)ready_.wait(timeout_ms);
    return read(event, into, bytes, flags);
}

bool fi_event_queue::empty()
{
    const std::lock_guard held{mutex_};
    return entries_.empty();
}

// Nobody will accept or reject it any more.
void fi_event_queue::drop(const entry &one)
{
    if (one.info == nullptr)
        return;
    (void)take_request(one.info->handle);
    ::fi_freeinfo(one.info);
}

fi_event_queue::~fi_event_queue()
{
    std::ranges::for_each(entries_, drop);
}

void fi_event_queue::forget(fid_t of)
{
    const std::lock_guard held{mutex_};
    std::erase_if(entries_, [&](const entry &one) {
        if (one.of != of)
            return false;
        drop(one);
        return true;
    });
    if (entries_.empty())
        ready_.clear();
}

completion_queue::completion_queue(used &domain, messaging::fabric_endpoint &by, const fi_cq_attr &attributes,
                                   void *context)
    : fid_cq{.fid = {.fclass = FI_CLASS_CQ, .context = context, .ops = &completion_queue_ops}, .ops = &completion_ops},
      domain_use_{domain}, by_{by}, entry_bytes_{bytes_of(attributes.format)},
      waits_{attributes.wait_obj != FI_WAIT_NONE}
{
}

void completion_queue::add(const fi_cq_tagged_entry &done, std::shared_ptr<completion_reader> reader)
{
    fi_cq_err_entry entry{};
    entry.op_context = done.op_context;
    entry.flags = done.flags;
    entry.len = done.len;
    entry.buf = done.buf;
    entry.data = done.data;
    entry.tag = done.tag;
    add_entry({.what = entry, .reader = std::move(reader)});
}

void completion_queue::add_failure(const fi_cq_err_entry &failed)
{
    add_entry({.what = failed, .reader = {}});
}

void completion_queue::add_entry(entry one)
{
    const std::lock_guard held{mutex_};
    entries_.push_back(std::move(one));
    if (waits_)
        ready_.set();
}

ssize_t completion_queue::read(void *into, std::size_t count)
{
    ssize_t got = read_at_hand(into, count);
    if (got == -FI_EAGAIN) {
        by_.poll();
        got = read_at_hand(into, count);
    }
    if (got == -FI_EAGAIN)
        core_.now_or_sleep(); // programs read in a loop
    return got;
}

ssize_t completion_queue::read_at_hand(void *into, std::size_t count)
{
    std::unique_lock held{mutex_};
    std::size_t got = 0;
    std::vector<std::shared_ptr<completion_reader>> readers;
    for (auto *to = static_cast<std::byte *>(into); got < count && !entries_.empty(); ++got, to += entry_bytes_) {
        entry &front = entries_.front();
        if (front.what.err != 0)
            break;
        std::memcpy(to, &front.what, entry_bytes_); // an entry of any format begins an error's
        if (front.reader)
            readers.push_back(std::move(front.reader));
        entries_.pop_front();
    }
    if (waits_ && entries_.empty())
        ready_.clear();
    if (got == 0 && !entries_.empty())
        return count > 0 ? -FI_EAVAIL : 0;
    held.unlock();
    for (const auto &one : readers)
        one->on_read();
    return got > 0 ? static_cast<ssize_t>(got) : -FI_EAGAIN;
}

ssize_t completion_queue::read_failure(fi_cq_err_entry *into)
{
    const std::lock_guard held{mutex_};
    if (entries_.empty() || entries_.front().what.err == 0)
        return -FI_EAGAIN;
    std::memcpy(into, &entries_.front().what, failure_bytes);
    entries_.pop_front();
    if (waits_ && entries_.empty())
        ready_.clear();
    return 1;
}

ssize_t completion_queue::wait(void *into, std::size_t count, int timeout_ms)
{
    if (!waits_)
        return -FI_EINVAL;
    if (const ssize_t got = read_at_hand(into, count); got != -FI_EAGAIN)
        return got;
    stop_polling();
    (void)ready_.wait(timeout_ms);
    return read_at_hand(into, count);
}

bool completion_queue::empty()
{
    const std::lock_guard held{mutex_};
    return entries_.empty();
}

} // namespace mrc::fi_provider
