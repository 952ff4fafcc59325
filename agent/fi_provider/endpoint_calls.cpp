// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/endpoint_calls.h"

#include <rdma/fi_errno.h>

#include "fi_provider/active_endpoint.h"
#include "fi_provider/endpoint_options.h"
#include "fi_provider/refusals.h"

namespace mrc::fi_provider
{

namespace
{

active_endpoint &end_of(fid *of)
{
    return *static_cast<active_endpoint *>(reinterpret_cast<fid_ep *>(of));
}

active_endpoint &end_of(fid_ep *of)
{
    return *static_cast<active_endpoint *>(of);
}

int tell_end(const std::optional<messaging::socket_address> &end, void *into, std::size_t *bytes)
{
    return end ? tell_address(*end, into, bytes) : -FI_ENOTCONN;
}

std::span<const std::byte> bytes_at(const void *data, std::size_t bytes)
{
    return {static_cast<const std::byte *>(data), bytes};
}

// There is no scatter and gather: iov_limit is 1.
transfer_call call_of(const iovec *parts, std::size_t count, void *context, std::uint64_t flags)
{
    transfer_call call{.context = context, .flags = flags};
    if (count > 0) {
        call.data = parts->iov_base;
        call.bytes = parts->iov_len;
    }
    return call;
}

transfer_call call_of(const void *data, std::size_t bytes, void *context, std::uint64_t flags)
{
    return {.data = const_cast<void *>(data), .bytes = bytes, .context = context, .flags = flags};
}

transfer_call injected(const void *data, std::size_t bytes)
{
    transfer_call call = call_of(data, bytes, nullptr, FI_INJECT);
    call.silent = true;
    return call;
}

// Whether what is sent goes with remote CQ data.
transfer_call with_data(transfer_call call, std::uint64_t data)
{
    call.flags |= FI_REMOTE_CQ_DATA;
    call.remote_data = data;
    return call;
}

transfer_call at(transfer_call call, std::uint64_t address, std::uint64_t key)
{
    call.address = address;
    call.key = key;
    return call;
}

std::uint64_t sends_by(fid_ep *of)
{
    return end_of(of).transmit_flags();
}

using transfer = ssize_t (active_endpoint::*)(const transfer_call &);

template <transfer Transfer>
ssize_t of_message(fid_ep *of, const fi_msg *what, std::uint64_t flags)
{
    if (what->iov_count > 1)
        return -FI_EINVAL;
    transfer_call call = call_of(what->msg_iov, what->iov_count, what->context, flags);
    call.remote_data = what->data;
    return (end_of(of).*Transfer)(call);
}

template <transfer Transfer>
ssize_t of_memory(fid_ep *of, const fi_msg_rma *what, std::uint64_t flags)
{
    if (what->iov_count > 1 || what->rma_iov_count != 1)
        return -FI_EINVAL;
    transfer_call call =
        at(call_of(what->msg_iov, what->iov_count, what->context, flags), what->rma_iov->addr, what->rma_iov->key);
    call.remote_data = what->data;
    return (end_of(of).*Transfer)(call);
}

} // namespace

fi_ops endpoint_ops{
    .size = sizeof(fi_ops),
    .close =
        [](fid *of) {
            delete &end_of(of);
            return 0;
        },
    .bind = [](fid *of, fid *what, std::uint64_t flags) { return end_of(of).bind(what, flags); },
    .control = [](fid *of, int command, void *) { return command == FI_ENABLE ? end_of(of).enable() : -FI_ENOSYS; },
    .ops_open = refuse_ops,
    .tostr = nullptr,
    .ops_set = nullptr};

fi_ops_ep active_options{.size = sizeof(fi_ops_ep),
                         .cancel = [](fid_t of, void *context) { return end_of(of).cancel(context); },
                         .getopt = get_option,
                         .setopt = MRC_FI_REFUSED(fi_ops_ep, setopt),
                         .tx_ctx = MRC_FI_REFUSED(fi_ops_ep, tx_ctx),
                         .rx_ctx = MRC_FI_REFUSED(fi_ops_ep, rx_ctx),
                         .rx_size_left = MRC_FI_REFUSED(fi_ops_ep, rx_size_left),
                         .tx_size_left = MRC_FI_REFUSED(fi_ops_ep, tx_size_left)};

fi_ops_cm connecting_calls{
    .size = sizeof(fi_ops_cm),
    .setname = MRC_FI_REFUSED(fi_ops_cm, setname),
    .getname = [](fid_t of, void *into, std::size_t *bytes) { return tell_end(end_of(of).source(), into, bytes); },
    .getpeer = [](fid_ep *of, void *into,
                  std::size_t *bytes) { return tell_end(end_of(of).destination(), into, bytes); },
    .connect =
        [](fid_ep *of, const void *address, const void *data, std::size_t bytes) {
            const auto to = messaging::socket_address::from(static_cast<const sockaddr *>(address));
            return !to || bytes > connect_data_bytes ? -FI_EINVAL : end_of(of).connect(*to, bytes_at(data, bytes));
        },
    .listen = MRC_FI_REFUSED(fi_ops_cm, listen),
    .accept =
        [](fid_ep *of, const void *data, std::size_t bytes) {
            return bytes > connect_data_bytes ? -FI_EINVAL : end_of(of).accept(bytes_at(data, bytes));
        },
    .reject = MRC_FI_REFUSED(fi_ops_cm, reject),
    .shutdown = [](fid_ep *of, std::uint64_t) { return end_of(of).shutdown(); },
    .join = MRC_FI_REFUSED(fi_ops_cm, join)};

fi_ops_msg message_calls{
    .size = sizeof(fi_ops_msg),
    .recv = [](fid_ep *of, void *data, std::size_t bytes, void *, fi_addr_t,
               void *context) { return end_of(of).receive(call_of(data, bytes, context, end_of(of).receive_flags())); },
    .recvv = [](fid_ep *of, const iovec *parts, void **, std::size_t count, fi_addr_t, void *context) -> ssize_t {
        return count > 1 ? -FI_EINVAL : end_of(of).receive(call_of(parts, count, context, end_of(of).receive_flags()));
    },
    .recvmsg = of_message<&active_endpoint::receive>,
    .send = [](fid_ep *of, const void *data, std::size_t bytes, void *, fi_addr_t,
               void *context) { return end_of(of).send(call_of(data, bytes, context, sends_by(of))); },
    .sendv = [](fid_ep *of, const iovec *parts, void **, std::size_t count, fi_addr_t, void *context) -> ssize_t {
        return count > 1 ? -FI_EINVAL : end_of(of).send(call_of(parts, count, context, sends_by(of)));
    },
    .sendmsg = of_message<&active_endpoint::send>,
    .inject = [](fid_ep *of, const void *data, std::size_t bytes,
                 fi_addr_t) { return end_of(of).send(injected(data, bytes)); },
    .senddata =
        [](fid_ep *of, const void *data, std::size_t bytes, void *, std::uint64_t remote, fi_addr_t, void *context) {
            return end_of(of).send(with_data(call_of(data, bytes, context, sends_by(of)), remote));
        },
    .injectdata = [](fid_ep *of, const void *data, std::size_t bytes, std::uint64_t remote,
                     fi_addr_t) { return end_of(of).send(with_data(injected(data, bytes), remote)); }};

fi_ops_rma memory_calls{
    .size = sizeof(fi_ops_rma),
    .read =
        [](fid_ep *of, void *data, std::size_t bytes, void *, fi_addr_t, std::uint64_t address, std::uint64_t key,
           void *context) { return end_of(of).read(at(call_of(data, bytes, context, sends_by(of)), address, key)); },
    .readv = [](fid_ep *of, const iovec *parts, void **, std::size_t count, fi_addr_t, std::uint64_t address,
                std::uint64_t key, void *context) -> ssize_t {
        return count > 1 ? -FI_EINVAL : end_of(of).read(at(call_of(parts, count, context, sends_by(of)), address, key));
    },
    .readmsg = of_memory<&active_endpoint::read>,
    .write =
        [](fid_ep *of, const void *data, std::size_t bytes, void *, fi_addr_t, std::uint64_t address, std::uint64_t key,
           void *context) { return end_of(of).write(at(call_of(data, bytes, context, sends_by(of)), address, key)); },
    .writev = [](fid_ep *of, const iovec *parts, void **, std::size_t count, fi_addr_t, std::uint64_t address,
                 std::uint64_t key, void *context) -> ssize_t {
        return count > 1 ? -FI_EINVAL
                         : end_of(of).write(at(call_of(parts, count, context, sends_by(of)), address, key));
    },
    .writemsg = of_memory<&active_endpoint::write>,
    .inject = [](fid_ep *of, const void *data, std::size_t bytes, fi_addr_t, std::uint64_t address,
                 std::uint64_t key) { return end_of(of).write(at(injected(data, bytes), address, key)); },
    .writedata =
        [](fid_ep *of, const void *data, std::size_t bytes, void *, std::uint64_t remote, fi_addr_t,
           std::uint64_t address, std::uint64_t key, void *context) {
            return end_of(of).write(at(with_data(call_of(data, bytes, context, sends_by(of)), remote), address, key));
        },
    .injectdata =
        [](fid_ep *of, const void *data, std::size_t bytes, std::uint64_t remote, fi_addr_t, std::uint64_t address,
           std::uint64_t key) { return end_of(of).write(at(with_data(injected(data, bytes), remote), address, key)); }};

} // namespace mrc::fi_provider
