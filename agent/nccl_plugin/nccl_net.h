// SPDX-License-Identifier: Apache-2.0
// What NCCL and a network plug-in of it agree on: versions 8, 11 and 12 of the interface, declared anew from what NCCL
// publishes (src/include/plugin/net/ and plugins/net/README.md of its source). Layouts are NCCL's, names ours.
//
// NCCL takes the newest version that it knows and the library exports. All calls but init, devices, get_properties and
// finalize are made by its proxy threads; one object is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc::nccl_plugin
{

// ncclResult_t.
enum class result : int {
    success = 0,
    system_error = 2,     // this host: mrcd, sockets, memory
    internal_error = 3,   // a mistake in here
    invalid_argument = 4, // of NCCL
    invalid_usage = 5,    // of the program or its configuration
    remote_error = 6,     // the far end, or the network to it
};

enum class nccl_log_level : int { none, version, warn, info, abort, trace };
inline constexpr unsigned long log_net = 0x10; // what a line is about: the network
inline constexpr unsigned long log_all = ~0UL;
using log_function = void (*)(nccl_log_level level, unsigned long about, const char *file, int line, const char *format,
                              ...);
// NCCL's profiler, which gets nothing from here.
using profiler_function = result (*)(void **event, int type, void *parent, std::int64_t plugin, void *data);

inline constexpr std::size_t handle_bytes = 128; // of what listen() gives and connect() takes
inline constexpr int pointer_host = 1;           // kinds of memory
inline constexpr int pointer_cuda = 2;
inline constexpr int most_requests = 32; // under way, of one connection; a grouped receive is one
inline constexpr std::size_t most_message_bytes = std::size_t{1} << 30;
inline constexpr int host_only = 0; // no part of the plug-in runs on a GPU

struct properties_v8 {
    char *name;
    char *pci_path; // null: not of one PCI device
    std::uint64_t guid;
    int pointers; // pointer_host
    int registration_is_global;
    int speed_mbps;
    int port;
    float latency_us;
    int max_connections;
    int max_grouped_receives;
    int device_type;
    int device_version;
};
static_assert(sizeof(properties_v8) == 64);

template <int MostDevices>
struct merged_devices { // those that a virtual one consists of
    int count;
    int devices[MostDevices];
};

struct properties_v11 {
    char *name;
    char *pci_path;
    std::uint64_t guid;
    int pointers;
    int registration_is_global;
    int force_flush;
    int speed_mbps;
    int port;
    float latency_us;
    int max_connections;
    int max_grouped_receives;
    int device_type;
    int device_version;
    merged_devices<4> merged;
    std::size_t max_p2p_bytes;
    std::size_t max_collective_bytes;
    int max_multi_request;
};
static_assert(sizeof(properties_v11) == 112);

struct properties_v12 {
    char *name;
    char *pci_path;
    std::uint64_t guid;
    int pointers;
    int registration_is_global;
    int force_flush;
    int speed_mbps;
    int port;
    float latency_us;
    int max_connections;
    int max_grouped_receives;
    int device_type;
    int device_version;
    merged_devices<8> merged;
    std::size_t max_p2p_bytes;
    std::size_t max_collective_bytes;
    int max_multi_request;
    std::int16_t rail;
    std::int16_t plane;
};
static_assert(sizeof(properties_v12) == 128);

struct communicator_config { // since version 11
    int traffic_class;
};

// A request that could not be begun is null, with success: NCCL asks again. So is a connection that is not there yet.
struct net_v8 {
    const char *name;
    result (*init)(log_function log);
    result (*devices)(int *count);
    result (*get_properties)(int device, properties_v8 *properties);
    result (*listen)(int device, void *handle, void **listener);
    result (*connect)(int device, void *handle, void **sender, void **on_gpu);
    result (*accept)(void *listener, void **receiver, void **on_gpu);
    result (*reg_mr)(void *connection, void *data, std::size_t bytes, int pointer, void **memory);
    result (*reg_mr_dma_buf)(void *connection, void *data, std::size_t bytes, int pointer, std::uint64_t offset, int fd,
                             void **memory);
    result (*dereg_mr)(void *connection, void *memory);
    result (*isend)(void *sender, void *data, int bytes, int tag, void *memory, void **request);
    result (*irecv)(void *receiver, int count, void **data, int *bytes, int *tags, void **memory, void **request);
    result (*iflush)(void *receiver, int count, void **data, int *bytes, void **memory, void **request);
    result (*test)(void *request, int *done, int *bytes);
    result (*close_send)(void *sender);
    result (*close_recv)(void *receiver);
    result (*close_listen)(void *listener);
    result (*get_device_mr)(void *connection, void *memory, void **on_gpu);
    result (*irecv_consumed)(void *receiver, int count, void *request);
};
static_assert(sizeof(net_v8) == 19 * sizeof(void *));

// Version 12 differs from 11 by the properties alone.
template <typename Properties>
struct net_since_v11 {
    const char *name;
    result (*init)(void **context, std::uint64_t communicator, communicator_config *config, log_function log,
                   profiler_function profiler);
    result (*devices)(int *count);
    result (*get_properties)(int device, Properties *properties);
    result (*listen)(void *context, int device, void *handle, void **listener);
    result (*connect)(void *context, int device, void *handle, void **sender, void **on_gpu);
    result (*accept)(void *listener, void **receiver, void **on_gpu);
    result (*reg_mr)(void *connection, void *data, std::size_t bytes, int pointer, void **memory);
    result (*reg_mr_dma_buf)(void *connection, void *data, std::size_t bytes, int pointer, std::uint64_t offset, int fd,
                             void **memory);
    result (*dereg_mr)(void *connection, void *memory);
    result (*isend)(void *sender, void *data, std::size_t bytes, int tag, void *memory, void *event, void **request);
    // *request may come in as 1: the GPU sees by the data itself what has arrived (protocols LL and LL128).
    result (*irecv)(void *receiver, int count, void **data, std::size_t *bytes, int *tags, void **memory, void **events,
                    void **request);
    result (*iflush)(void *receiver, int count, void **data, int *bytes, void **memory, void **request);
    result (*test)(void *request, int *done, int *bytes);
    result (*close_send)(void *sender);
    result (*close_recv)(void *receiver);
    result (*close_listen)(void *listener);
    result (*get_device_mr)(void *connection, void *memory, void **on_gpu);
    result (*irecv_consumed)(void *receiver, int count, void *request);
    result (*make_virtual_device)(int *device, void *merged);
    result (*finalize)(void *context);
    result (*set_attributes)(void *context, void *attributes);
};
using net_v11 = net_since_v11<properties_v11>;
using net_v12 = net_since_v11<properties_v12>;
static_assert(sizeof(net_v11) == 22 * sizeof(void *));

} // namespace mrc::nccl_plugin
