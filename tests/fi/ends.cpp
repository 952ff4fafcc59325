// SPDX-License-Identifier: Apache-2.0
#include "fi/ends.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mrc::fi_test
{

namespace
{

constexpr int limit_ms = 20000;

owned_info find(const std::string &instance)
{
    ::setenv("MRC_INSTANCE", instance.c_str(), 1); // whose mrcd what is opened next uses
    const owned_info hints{::fi_allocinfo()};
    hints->caps = FI_MSG | FI_RMA;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->ep_attr->type = FI_EP_MSG;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = ::strdup("mrc");
    fi_info *found = nullptr;
    check(::fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", "0", FI_SOURCE, hints.get(), &found) == 0,
          "the provider is there");
    return owned_info{found};
}

template <typename T, typename Make>
owned<T> made(const char *what, Make make)
{
    T *one = nullptr;
    check(make(&one) == 0 && one != nullptr, what);
    return owned<T>{one};
}

} // namespace

void check(bool condition, std::string_view what)
{
    if (condition)
        return;
    std::fprintf(stderr, "FAIL: %.*s\n", static_cast<int>(what.size()), what.data());
    std::_Exit(1);
}

host::host(const std::string &instance) : info{find(instance)}
{
    fabric = made<fid_fabric>("a fabric", [&](auto **one) { return ::fi_fabric(info->fabric_attr, one, nullptr); });
    fi_eq_attr of_events{};
    of_events.wait_obj = FI_WAIT_FD;
    events = made<fid_eq>("an event queue",
                          [&](auto **one) { return ::fi_eq_open(fabric.get(), &of_events, one, nullptr); });
    domain =
        made<fid_domain>("a domain", [&](auto **one) { return ::fi_domain(fabric.get(), info.get(), one, nullptr); });
    fi_cq_attr of_queue{};
    of_queue.format = FI_CQ_FORMAT_DATA;
    of_queue.wait_obj = FI_WAIT_FD;
    queue = made<fid_cq>("a completion queue",
                         [&](auto **one) { return ::fi_cq_open(domain.get(), &of_queue, one, nullptr); });
}

event host::next_event(int timeout_ms) const
{
    event found;
    fi_eq_cm_entry entry{};
    if (::fi_eq_sread(events.get(), &found.kind, &entry, sizeof(entry), timeout_ms, 0) < 0) {
        fi_eq_err_entry failure{};
        (void)::fi_eq_readerr(events.get(), &failure, 0);
        return {};
    }
    found.info.reset(entry.info);
    return found;
}

completion host::next() const
{
    fi_cq_data_entry entry{};
    const ssize_t got = ::fi_cq_sread(queue.get(), &entry, 1, nullptr, limit_ms);
    if (got == 1)
        return {.flags = entry.flags, .data = entry.data, .error = 0};
    fi_cq_err_entry failure{};
    check(got == -FI_EAVAIL && ::fi_cq_readerr(queue.get(), &failure, 0) == 1, "a transfer completes");
    return {.flags = failure.flags, .data = 0, .error = failure.err};
}

bool host::has_none() const
{
    fi_cq_data_entry entry{};
    return ::fi_cq_read(queue.get(), &entry, 1) == -FI_EAGAIN;
}

owned<fid_pep> host::listen(sockaddr_in &address) const
{
    auto door = made<fid_pep>("a passive endpoint",
                              [&](auto **one) { return ::fi_passive_ep(fabric.get(), info.get(), one, nullptr); });
    std::size_t length = sizeof(address);
    check(::fi_pep_bind(door.get(), &events->fid, 0) == 0 && ::fi_listen(door.get()) == 0 &&
              ::fi_getname(&door->fid, &address, &length) == 0,
          "it listens");
    return door;
}

owned<fid_ep> host::endpoint(fi_info &by) const
{
    auto end = made<fid_ep>("an endpoint", [&](auto **one) { return ::fi_endpoint(domain.get(), &by, one, nullptr); });
    check(::fi_ep_bind(end.get(), &events->fid, 0) == 0 &&
              ::fi_ep_bind(end.get(), &queue->fid, FI_TRANSMIT | FI_RECV) == 0 && ::fi_enable(end.get()) == 0,
          "it is bound and enabled");
    return end;
}

ends::ends(const instances &of) : one{of.one}, other{of.other}
{
    sockaddr_in address{};
    door = other.listen(address);
    from = one.endpoint(*one.info);
    check(::fi_connect(from.get(), &address, nullptr, 0) == 0, "it connects");
    const event request = other.next_event();
    check(request.kind == FI_CONNREQ, "the far end is asked");
    to = other.endpoint(*request.info);
    check(::fi_accept(to.get(), nullptr, 0) == 0, "it accepts");
    check(one.next_event().kind == FI_CONNECTED && other.next_event().kind == FI_CONNECTED, "both are connected");
}

memory::memory(const host &of, std::size_t count, std::uint8_t first, std::uint64_t access) : bytes(count)
{
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = static_cast<std::uint8_t>(first + i * 7 + i / 251);
    region = made<fid_mr>("a region", [&](auto **one) {
        return ::fi_mr_reg(of.domain.get(), bytes.data(), bytes.size(), access, 0, 0, 0, one, nullptr);
    });
}

} // namespace mrc::fi_test
