// SPDX-License-Identifier: Apache-2.0
// What fi_getinfo() answers to hints; queues that say how to wait for them; an endpoint that is made of a passive one.
#include <cstdlib>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <rdma/fi_errno.h>

#include "fi/ends.h"

namespace mrc::fi_test
{

namespace
{

owned_info hints_for(std::uint64_t caps)
{
    owned_info hints{::fi_allocinfo()};
    hints->caps = caps;
    hints->ep_attr->type = FI_EP_MSG;
    hints->fabric_attr->prov_name = ::strdup("mrc");
    return hints;
}

owned_info answer_to(const owned_info &hints)
{
    fi_info *found = nullptr;
    const int status = ::fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
    check(status == 0 || status == -FI_ENODATA, "hints are answered");
    return owned_info{found};
}

void test_answers()
{
    owned_info hints = hints_for(FI_MSG | FI_RMA);
    check(answer_to(hints) == nullptr, "memory is not to be had without what registration needs");
    hints->domain_attr->mr_mode = FI_MR_BASIC;
    owned_info found = answer_to(hints);
    check(found && found->domain_attr->mr_mode == FI_MR_BASIC, "FI_MR_BASIC is answered by itself");
    hints->domain_attr->data_progress = hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    found = answer_to(hints);
    check(found && found->domain_attr->data_progress == FI_PROGRESS_MANUAL &&
              found->domain_attr->control_progress == FI_PROGRESS_MANUAL,
          "progress by hand is answered by itself");
    hints = hints_for(FI_MSG);
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_LOCAL;
    found = answer_to(hints);
    check(found && found->domain_attr->mr_mode == FI_MR_VIRT_ADDR, "messages need no mode that was not offered");
    hints = hints_for(0);
    found = answer_to(hints);
    check(found && (found->caps & (FI_MSG | FI_RMA)) == FI_MSG, "who registers in another way is offered messages");
    hints->domain_attr->caps = FI_SHARED_AV;
    check(answer_to(hints) == nullptr, "what no domain can do is not offered");
}

// A port that was free, of an endpoint that does not listen.
sockaddr_in bound(fid_pep *door)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::size_t length = sizeof(address);
    check(::fi_setname(&door->fid, &address, length) == 0 && ::fi_getname(&door->fid, &address, &length) == 0 &&
              address.sin_port != 0,
          "a passive endpoint gets an address later");
    return address;
}

template <typename End>
sockaddr_in name_of(End *of)
{
    sockaddr_in address{};
    std::size_t length = sizeof(address);
    check(::fi_getname(&of->fid, &address, &length) == 0, "it has an address");
    return address;
}

} // namespace

void test_hints(const instances &of)
{
    const host server{of.other};
    const host client{of.one};
    test_answers();
    fi_wait_obj kind = FI_WAIT_UNSPEC;
    check(::fi_control(&client.queue->fid, FI_GETWAITOBJ, &kind) == 0 && kind == FI_WAIT_FD,
          "a queue has a descriptor");

    sockaddr_in address{};
    const owned<fid_pep> door = server.listen(address);
    const owned_info without{::fi_dupinfo(client.info.get())};
    std::free(std::exchange(without->src_addr, nullptr));
    without->src_addrlen = 0;
    fid_pep *made = nullptr;
    check(::fi_passive_ep(client.fabric.get(), without.get(), &made, nullptr) == 0, "it has no address yet");
    owned<fid_pep> place{made};
    check(::fi_pep_bind(made, &client.events->fid, 0) == 0 && ::fi_listen(made) == -FI_EADDRNOTAVAIL,
          "without one it does not listen");
    const sockaddr_in from = bound(made);
    without->handle = &made->fid;
    const owned<fid_ep> end = client.endpoint(*without);
    place.reset();
    check(name_of(end.get()).sin_port == from.sin_port, "an endpoint takes its address over");
    check(::fi_connect(end.get(), &address, nullptr, 0) == 0, "it connects");
    const event request = server.next_event();
    check(request.kind == FI_CONNREQ &&
              reinterpret_cast<const sockaddr_in *>(request.info->dest_addr)->sin_port == from.sin_port,
          "from there");
    const owned<fid_ep> far = server.endpoint(*request.info);
    check(::fi_accept(far.get(), nullptr, 0) == 0 && client.next_event().kind == FI_CONNECTED, "it is connected");
    check(name_of(far.get()).sin_port == address.sin_port, "the far end has the address that was called");
}

} // namespace mrc::fi_test
