// SPDX-License-Identifier: Apache-2.0
// Objects that others use stay; requests to connect are bounded, also by the descriptors that there are.
#include <algorithm>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fi/ends.h"
#include "fi_provider/connect_message.h"
#include "kernel/unique_fd.h"

namespace mrc::fi_test
{

namespace
{

constexpr std::size_t told_at_once = 1024;

// Calls by TCP, with a request like an endpoint's.
kernel::unique_fd call(const sockaddr_in &to)
{
    kernel::unique_fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    check(fd && ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&to), sizeof(to)) == 0, "somebody calls");
    const fi_provider::connect_message request{.kind = fi_provider::connect_kind::request,
                                               .address = messaging::peer_address{.ring_slots = 64,
                                                                                  .slot_bytes = 4096,
                                                                                  .qpn = 17,
                                                                                  .first_psn = 3,
                                                                                  .gid = {0xFD},
                                                                                  .ring = 4096,
                                                                                  .rkey = 9},
                                               .data = {}};
    const auto bytes = request.encode();
    check(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "and asks");
    return fd;
}

void limit_descriptors(rlim_t count)
{
    rlimit now{};
    check(::getrlimit(RLIMIT_NOFILE, &now) == 0, "descriptors have a limit");
    now.rlim_cur = std::min(count, now.rlim_max);
    check(::setrlimit(RLIMIT_NOFILE, &now) == 0, "which can be set");
}

double processor_seconds()
{
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec * 1000000 + time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// With no descriptor left a connection waits in the kernel, and nobody spins for it.
void without_descriptors(const host &server, fid_pep *door, const sockaddr_in &address)
{
    const kernel::unique_fd first = call(address);
    const event told = server.next_event();
    check(told.kind == FI_CONNREQ, "it is told of");
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (next < 0)
        throw std::runtime_error{"/dev/null cannot be opened"};
    const int of_caller = ::dup(next);
    ::close(of_caller);
    limit_descriptors(static_cast<rlim_t>(of_caller) + 1); // one is left, for the caller
    const kernel::unique_fd late = call(address);
    const double before = processor_seconds();
    check(server.next_event(1000).kind == 0, "a caller for whom there is no descriptor waits");
    const double used = processor_seconds() - before;
    check(used < 0.1,
          "and costs nothing meanwhile, but for " + std::to_string(used) + " s of a processor in one second");
    limit_descriptors(8192);
    const event at_last = server.next_event();
    check(at_last.kind == FI_CONNREQ, "until there is one");
    for (const event *one : {&told, &at_last})
        check(::fi_reject(door, one->info->handle, nullptr, 0) == 0, "both are rejected");
    ::close(next);
}

} // namespace

void test_objects(const instances &of)
{
    ends both{of};
    const memory region{both.one, 64, 1, FI_REMOTE_WRITE};
    const auto busy = [](fid *what) { return ::fi_close(what) == -FI_EBUSY; };
    check(busy(&both.one.fabric->fid), "a fabric has event queues and a domain");
    check(busy(&both.one.domain->fid), "a domain has endpoints, queues and regions");
    check(busy(&both.one.events->fid) && busy(&both.one.queue->fid), "queues have an endpoint");
    check(busy(&both.other.events->fid), "also one that listens");
    both.from.reset();
    check(busy(&both.one.domain->fid), "a domain has a queue and a region");
    check(::fi_close(&both.one.queue.release()->fid) == 0, "the queue has no endpoint any more");
    check(busy(&both.one.domain->fid), "the region is there");
}

void test_requests(const instances &of)
{
    limit_descriptors(8192);
    const host server{of.one};
    sockaddr_in address{};
    const owned<fid_pep> door = server.listen(address);
    without_descriptors(server, door.get(), address);
    std::vector<kernel::unique_fd> callers;
    std::vector<event> told;
    const auto take = [&](int timeout_ms) {
        event next = server.next_event(timeout_ms);
        const bool came = next.kind == FI_CONNREQ;
        if (came)
            told.push_back(std::move(next));
        return came;
    };
    while (callers.size() < told_at_once) {
        callers.push_back(call(address));
        check(take(20000), "each request is told of");
    }
    for (int i = 0; i < 100; ++i)
        callers.push_back(call(address));
    check(!take(500), "1024 requests wait for an answer: no more are told of");
    for (int i = 0; i < 100; ++i) {
        check(::fi_reject(door.get(), told.back().info->handle, nullptr, 0) == 0, "one is rejected");
        told.pop_back();
    }
    for (int i = 0; i < 100; ++i)
        check(take(20000), "and the next is told of");
    for (const event &one : told)
        (void)::fi_reject(door.get(), one.info->handle, nullptr, 0);
}

} // namespace mrc::fi_test
