// SPDX-License-Identifier: Apache-2.0
// Any packets from two clients into their sessions of one daemon, with any descriptors. The input is a row of records:
// how, kind, length, and that many bytes.
//   how bit 0: which session; bit 1: the bytes are the packet as it is, otherwise they are the request's, with version
//   and kind made right; bits 2 and 3: numbers of objects are made those of existing ones; bits 4 to 6: the descriptor
//
// Holds for every input: each request has one reply or ends its session; a client beside goes on; when the sessions
// have ended, no queue pair, region or descriptor of theirs is left.
#include <cstring>

#include <fcntl.h>
#include <sys/eventfd.h>

#include "fuzz_input.h"
#include "two_daemons.h"

namespace
{

using namespace mrc;
using namespace mrc::fuzz;
using namespace mrc::session;
using namespace mrc::service;

constexpr std::size_t shared_bytes = 16384;

// Numbers that a session has been given, newest last.
struct known_numbers {
    std::vector<std::uint32_t> events, domains, regions, channels, cqs, qps;

    static std::uint32_t any(const std::vector<std::uint32_t> &of, std::uint32_t which)
    {
        return of.empty() ? which : of[which % of.size()];
    }

    void learn(request_kind kind, const session_reply &reply)
    {
        switch (kind) {
        case request_kind::open_events:
            return events.push_back(reply.number);
        case request_kind::allocate_pd:
            return domains.push_back(reply.number);
        case request_kind::register_memory:
            return regions.push_back(reply.number);
        case request_kind::create_channel:
            return channels.push_back(reply.number);
        case request_kind::create_cq:
            return cqs.push_back(reply.cq.number);
        case request_kind::create_qp:
            return qps.push_back(reply.qp.qpn);
        default:
            return;
        }
    }

    void name_existing(session_request &request, const mrc_ip &peer) const
    {
        switch (request.kind) {
        case request_kind::close_events:
            request.number = any(events, request.number);
            break;
        case request_kind::deallocate_pd:
            request.number = any(domains, request.number);
            break;
        case request_kind::register_memory:
            request.memory.pd = any(domains, request.memory.pd);
            request.memory.length %= 4 * shared_bytes;
            request.memory.access &= 3U;
            break;
        case request_kind::deregister_memory:
            request.number = any(regions, request.number);
            break;
        case request_kind::destroy_channel:
            request.number = any(channels, request.number);
            break;
        case request_kind::create_cq:
            request.cq.entries %= 1500;
            request.cq.events = any(events, request.cq.events);
            request.cq.channel = request.cq.channel % 2 == 0 ? 0 : any(channels, request.cq.channel);
            break;
        case request_kind::destroy_cq:
            request.number = any(cqs, request.number);
            break;
        case request_kind::create_qp:
            request.create.pd = any(domains, request.create.pd);
            request.create.send_cq = any(cqs, request.create.send_cq);
            request.create.receive_cq = any(cqs, request.create.receive_cq);
            request.create.events = any(events, request.create.events);
            request.create.send_depth %= 300;
            request.create.receive_depth %= 300;
            request.create.most_pieces %= 18;
            request.create.most_inline %= 300;
            break;
        case request_kind::modify_qp:
            request.qp.qpn = any(qps, request.qp.qpn);
            request.qp.state %= 7;
            request.qp.peer = peer;
            request.qp.peer_qpn &= MRC_QPN_MASK;
            request.qp.receive_psn &= MRC_PSN_MASK;
            request.qp.send_psn &= MRC_PSN_MASK;
            break;
        default:
            request.number = any(qps, request.number);
        }
    }
};

// None, and one of each sort: memory as it should be, unsealed, too short, no memory at all.
kernel::unique_fd descriptor(unsigned sort)
{
    switch (sort) {
    case 1:
        return kernel::unique_fd{::open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
    case 2:
    case 3:
    case 4: {
        kernel::unique_fd file{::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
        demand(::ftruncate(file.get(), sort == 4 ? 100 : shared_bytes) == 0, "no memfd");
        const std::vector<std::byte> zeros(shared_bytes);
        demand(sort == 4 || ::pwrite(file.get(), zeros.data(), zeros.size(), 0) == ssize_t{shared_bytes}, "no memory");
        if (sort != 3)
            ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK);
        return file;
    }
    case 5:
        return kernel::unique_fd{::eventfd(0, EFD_CLOEXEC)};
    case 6:
        return kernel::unique_fd{::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    default:
        return {};
    }
}

struct attacker {
    explicit attacker(daemon_in_memory &daemon) : client{daemon} {}
    fake_client client;
    known_numbers known;
};

void act(attacker &by, unsigned how, unsigned kind, std::span<const std::uint8_t> bytes, const mrc_ip &peer)
{
    const kernel::unique_fd fd = descriptor(how >> 4U & 7U);
    if ((how & 2U) != 0) {
        (void)by.client.send(std::as_bytes(bytes), fd.get());
        return;
    }
    session_request request;
    if (!bytes.empty())
        std::memcpy(request.room, bytes.data(), std::min(bytes.size(), sizeof(request.room)));
    constexpr unsigned kinds = 21; // one more than there are
    request.kind = static_cast<request_kind>(kind % kinds);
    if ((how & 12U) != 12U)
        by.known.name_existing(request, peer);
    if (const auto reply = by.client.ask(request, fd.get()); reply.done())
        by.known.learn(request.kind, reply.body);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static daemon_in_memory here{0};
    static daemon_in_memory there{1};
    static honest_pair beside{here, there};
    beside.transfer(here, there);
    const std::size_t descriptors = open_descriptors();
    const std::size_t qps = here.qps_in_use();
    const std::uint32_t regions = here.worker().regions().size();
    {
        std::array attackers{std::make_unique<attacker>(here), std::make_unique<attacker>(here)};
        fuzz_input input{{data, size}};
        while (!input.empty()) {
            const unsigned how = input.byte();
            const unsigned kind = input.byte();
            const auto bytes = input.bytes(input.byte());
            act(*attackers[how & 1U], how, kind, bytes, there.address());
            run(here, there, 2);
        }
        beside.transfer(here, there);
    }
    run(here, there, 8);
    demand(here.qps_in_use() == qps, "queue pairs of ended sessions are left");
    demand(here.worker().regions().size() == regions, "regions of ended sessions are left");
    await_descriptors(descriptors);
    return 0;
}
