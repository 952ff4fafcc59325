// SPDX-License-Identifier: Apache-2.0
// The verbs calls on virtual devices, one function for each symbol that exports_*.cpp offers. Callers have made
// sure that the object is ours. Results and errno as the verbs function of the same name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <infiniband/verbs.h>

#include "client/verbs/device.h"

namespace mrc::client
{

// An ibv_context as the inline functions of verbs.h expect it: the last member of a verbs_context.
struct virtual_context {
    device *owner; // owned; a plain pointer, so that offsetof holds
    verbs_context verbs;
};

// What newer releases of verbs.h call ibv_mr_init_attr; as far as `addr` it has stood since its first release, and
// what lies beyond is only there where mask bits say so.
struct region_request {
    std::size_t length;
    int access;
    std::uint64_t mask;
    std::uint64_t iova;
    void *address;
};

namespace verbs
{

// Devices whose daemon answers, in the order of find_instances(); nothing is thrown but bad_alloc.
struct reachable_list {
    std::vector<ibv_device *> devices;
    std::optional<session_error> missing; // why the first one that should be there is not
};
[[nodiscard]] reachable_list reachable_devices();
[[nodiscard]] const char *device_name(const ibv_device *one) noexcept;
[[nodiscard]] __be64 device_guid(const ibv_device *one) noexcept;
[[nodiscard]] ibv_context *open_device(ibv_device *one) noexcept;
int close_device(ibv_context *context) noexcept;
int get_async_event(ibv_context *context, ibv_async_event *event) noexcept;

int query_device(ibv_context *context, ibv_device_attr *attributes) noexcept;
int query_device_ex(ibv_context *context, const ibv_query_device_ex_input *input, ibv_device_attr_ex *attributes,
                    std::size_t size) noexcept;
int query_port(ibv_context *context, std::uint8_t port, ibv_port_attr *attributes, std::size_t size) noexcept;
int query_port_speed(ibv_context *context, std::uint32_t port, std::uint64_t *speed) noexcept;
int query_pkey(ibv_context *context, std::uint8_t port, int index, __be16 *pkey) noexcept;
int get_pkey_index(ibv_context *context, std::uint8_t port, __be16 pkey) noexcept;
int query_gid(ibv_context *context, std::uint8_t port, int index, ibv_gid *gid) noexcept;
int query_gid_ex(ibv_context *context, std::uint32_t port, std::uint32_t index, ibv_gid_entry *entry,
                 std::uint32_t flags, std::size_t size) noexcept;
ssize_t query_gid_table(ibv_context *context, ibv_gid_entry *entries, std::size_t room, std::uint32_t flags,
                        std::size_t size) noexcept;
int query_gid_type(ibv_context *context, std::uint8_t port, unsigned int index, int *type) noexcept;

[[nodiscard]] ibv_pd *alloc_pd(ibv_context *context) noexcept;
int dealloc_pd(ibv_pd *pd) noexcept;
[[nodiscard]] ibv_mr *reg_mr(ibv_pd *pd, void *address, std::size_t length, std::uint64_t iova,
                             unsigned int access) noexcept;
[[nodiscard]] ibv_mr *reg_mr_ex(ibv_pd *pd, const region_request *request) noexcept;
int dereg_mr(ibv_mr *mr) noexcept;

} // namespace verbs

} // namespace mrc::client
