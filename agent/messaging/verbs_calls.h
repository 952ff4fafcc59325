// SPDX-License-Identifier: Apache-2.0
// The functions of verbs as libmrc has them, whatever else the process has loaded.
//
// A program that loads this code as a plug-in may have the real libibverbs in its global scope (PyTorch does), and the
// dynamic linker would take ibv_… from there. Looked up in libmrc's own scope they are always the virtual devices'.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

namespace mrc::messaging
{

struct verbs_calls {
    ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(ibv_device **list);
    const char *(*get_device_name)(ibv_device *device);
    ibv_context *(*open_device)(ibv_device *device);
    int (*close_device)(ibv_context *context);
    ibv_pd *(*alloc_pd)(ibv_context *context);
    int (*dealloc_pd)(ibv_pd *pd);
    ibv_mr *(*reg_mr)(ibv_pd *pd, void *address, std::size_t bytes, int access);
    int (*dereg_mr)(ibv_mr *region);
    int (*query_device)(ibv_context *context, ibv_device_attr *attributes);
    int (*query_port_speed)(ibv_context *context, std::uint32_t port, std::uint64_t *units); // of 100 Mbit/s
    int (*query_gid)(ibv_context *context, std::uint8_t port, int index, ibv_gid *gid);
    int (*get_async_event)(ibv_context *context, ibv_async_event *event);
};

// Throws messaging_failure when libmrc lacks one.
[[nodiscard]] const verbs_calls &verbs();

} // namespace mrc::messaging
