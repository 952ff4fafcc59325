// SPDX-License-Identifier: Apache-2.0
// What the library exports: a table for each version of NCCL's interface.
#include "nccl_plugin/nccl_net.h"
#include "nccl_plugin/plugin.h"

namespace mrc::nccl_plugin
{

namespace
{

constexpr const char *net_name = "MRC"; // what NCCL_NET may say, in any case

// Version 8 has one context for the process, which never ends.
void *the_context = nullptr;

result init_v8(log_function log)
{
    return the_context == nullptr ? calls::open_context(&the_context, log) : result::success;
}

result init(void **context, std::uint64_t /*communicator*/, communicator_config * /*config*/, log_function log,
            profiler_function /*profiler*/)
{
    return calls::open_context(context, log);
}

// Earlier versions' properties are version 12's without what came later.
template <typename Properties>
void copy_common(const properties_v12 &from, Properties &to)
{
    to.name = from.name;
    to.pci_path = from.pci_path;
    to.guid = from.guid;
    to.pointers = from.pointers;
    to.registration_is_global = from.registration_is_global;
    to.speed_mbps = from.speed_mbps;
    to.port = from.port;
    to.latency_us = from.latency_us;
    to.max_connections = from.max_connections;
    to.max_grouped_receives = from.max_grouped_receives;
    to.device_type = from.device_type;
    to.device_version = from.device_version;
}

result properties_for_v8(int device, properties_v8 *properties)
{
    properties_v12 all{};
    const result known = calls::describe(device, all);
    if (known == result::success)
        copy_common(all, *properties);
    return known;
}

result properties_for_v11(int device, properties_v11 *properties)
{
    properties_v12 all{};
    const result known = calls::describe(device, all);
    if (known != result::success)
        return known;
    *properties = {};
    copy_common(all, *properties);
    properties->force_flush = all.force_flush;
    properties->merged.count = all.merged.count;
    properties->max_p2p_bytes = all.max_p2p_bytes;
    properties->max_collective_bytes = all.max_collective_bytes;
    properties->max_multi_request = all.max_multi_request;
    return known;
}

result properties_for_v12(int device, properties_v12 *properties)
{
    return calls::describe(device, *properties);
}

result listen_v8(int device, void *handle, void **listener)
{
    return calls::listen(the_context, device, handle, listener);
}

result connect_v8(int device, void *handle, void **sender, void ** /*on_gpu*/)
{
    return calls::connect(the_context, device, handle, sender);
}

result connect_since_v11(void *context, int device, void *handle, void **sender, void ** /*on_gpu*/)
{
    return calls::connect(context, device, handle, sender);
}

result accept_any(void *listener, void **receiver, void ** /*on_gpu*/)
{
    return calls::accept(listener, receiver);
}

result isend_v8(void *sender, void *data, int bytes, int tag, void *memory, void **request)
{
    return calls::send(sender, data, static_cast<std::size_t>(bytes), tag, memory, request);
}

result isend_since_v11(void *sender, void *data, std::size_t bytes, int tag, void *memory, void * /*event*/,
                       void **request)
{
    return calls::send(sender, data, bytes, tag, memory, request);
}

result irecv_v8(void *receiver, int count, void **data, int *bytes, int *tags, void **memory, void **request)
{
    return calls::receive(receiver, count, data, bytes, tags, memory, request);
}

result irecv_since_v11(void *receiver, int count, void **data, std::size_t *bytes, int *tags, void **memory,
                       void ** /*events*/, void **request)
{
    return calls::receive(receiver, count, data, bytes, tags, memory, request);
}

// Memory of the host needs no flush.
result iflush(void * /*receiver*/, int /*count*/, void ** /*data*/, int * /*bytes*/, void ** /*memory*/, void **request)
{
    *request = nullptr;
    return result::success;
}

template <typename Properties>
constexpr net_since_v11<Properties> table_since_v11(result (*properties)(int, Properties *))
{
    return {.name = net_name,
            .init = &init,
            .devices = &calls::devices,
            .get_properties = properties,
            .listen = &calls::listen,
            .connect = &connect_since_v11,
            .accept = &accept_any,
            .reg_mr = &calls::register_memory,
            .reg_mr_dma_buf = nullptr,
            .dereg_mr = &calls::release_memory,
            .isend = &isend_since_v11,
            .irecv = &irecv_since_v11,
            .iflush = &iflush,
            .test = &calls::test,
            .close_send = &calls::close,
            .close_recv = &calls::close,
            .close_listen = &calls::close_listen,
            .get_device_mr = nullptr,
            .irecv_consumed = nullptr,
            .make_virtual_device = nullptr,
            .finalize = &calls::close_context,
            .set_attributes = nullptr};
}

} // namespace

} // namespace mrc::nccl_plugin

// NOLINTBEGIN(readability-identifier-naming): NCCL's names
extern "C" {
extern const mrc::nccl_plugin::net_v8 ncclNetPlugin_v8;
extern const mrc::nccl_plugin::net_v11 ncclNetPlugin_v11;
extern const mrc::nccl_plugin::net_v12 ncclNetPlugin_v12;

constinit const mrc::nccl_plugin::net_v8 ncclNetPlugin_v8{.name = mrc::nccl_plugin::net_name,
                                                          .init = &mrc::nccl_plugin::init_v8,
                                                          .devices = &mrc::nccl_plugin::calls::devices,
                                                          .get_properties = &mrc::nccl_plugin::properties_for_v8,
                                                          .listen = &mrc::nccl_plugin::listen_v8,
                                                          .connect = &mrc::nccl_plugin::connect_v8,
                                                          .accept = &mrc::nccl_plugin::accept_any,
                                                          .reg_mr = &mrc::nccl_plugin::calls::register_memory,
                                                          .reg_mr_dma_buf = nullptr,
                                                          .dereg_mr = &mrc::nccl_plugin::calls::release_memory,
                                                          .isend = &mrc::nccl_plugin::isend_v8,
                                                          .irecv = &mrc::nccl_plugin::irecv_v8,
                                                          .iflush = &mrc::nccl_plugin::iflush,
                                                          .test = &mrc::nccl_plugin::calls::test,
                                                          .close_send = &mrc::nccl_plugin::calls::close,
                                                          .close_recv = &mrc::nccl_plugin::calls::close,
                                                          .close_listen = &mrc::nccl_plugin::calls::close_listen,
                                                          .get_device_mr = nullptr,
                                                          .irecv_consumed = nullptr};
constinit const mrc::nccl_plugin::net_v11 ncclNetPlugin_v11 =
    mrc::nccl_plugin::table_since_v11(&mrc::nccl_plugin::properties_for_v11);
constinit const mrc::nccl_plugin::net_v12 ncclNetPlugin_v12 =
    mrc::nccl_plugin::table_since_v11(&mrc::nccl_plugin::properties_for_v12);
}
// NOLINTEND(readability-identifier-naming)
