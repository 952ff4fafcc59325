// SPDX-License-Identifier: Apache-2.0
// Devices, contexts and their queries.
#include <cstddef>

#include "client/verbs/device_lists.h"
#include "client/verbs/exports.h"

using namespace mrc::client; // NOLINT(google-build-using-namespace): every line below would begin with it

extern "C" {

MRC_OFFER("ibv_get_device_list", "1.1") ibv_device **shim_get_device_list(int *count);
MRC_OFFER("ibv_free_device_list", "1.1") void shim_free_device_list(ibv_device **list);

} // extern "C"

namespace
{

real_lister lister() noexcept
{
    return {.get = real_verb<&shim_get_device_list>::find("ibv_get_device_list", "IBVERBS_1.1"),
            .free = real_verb<&shim_free_device_list>::find("ibv_free_device_list", "IBVERBS_1.1")};
}

} // namespace

extern "C" {

ibv_device **shim_get_device_list(int *count)
{
    return get_device_list(count, lister());
}

void shim_free_device_list(ibv_device **list)
{
    free_device_list(list, lister());
}

MRC_OFFER("ibv_get_device_name", "1.1") const char *shim_get_device_name(ibv_device *one)
{
    return is_virtual(one) ? verbs::device_name(one)
                           : real_verb<&shim_get_device_name>::call("ibv_get_device_name", "IBVERBS_1.1", nullptr, one);
}

MRC_OFFER("ibv_get_device_index", "1.9") int shim_get_device_index(ibv_device *one)
{
    return is_virtual(one) ? -1
                           : real_verb<&shim_get_device_index>::call("ibv_get_device_index", "IBVERBS_1.9", -1, one);
}

MRC_OFFER("ibv_get_device_guid", "1.1") __be64 shim_get_device_guid(ibv_device *one)
{
    return is_virtual(one) ? verbs::device_guid(one)
                           : real_verb<&shim_get_device_guid>::call("ibv_get_device_guid", "IBVERBS_1.1", 0, one);
}

MRC_OFFER("ibv_open_device", "1.1") ibv_context *shim_open_device(ibv_device *one)
{
    return is_virtual(one) ? verbs::open_device(one)
                           : real_verb<&shim_open_device>::call("ibv_open_device", "IBVERBS_1.1", nullptr, one);
}

MRC_OFFER("ibv_close_device", "1.1") int shim_close_device(ibv_context *context)
{
    return ours(context) ? verbs::close_device(context)
                         : real_verb<&shim_close_device>::call("ibv_close_device", "IBVERBS_1.1", -1, context);
}

MRC_OFFER("ibv_get_async_event", "1.1") int shim_get_async_event(ibv_context *context, ibv_async_event *event)
{
    return ours(context)
               ? verbs::get_async_event(context, event)
               : real_verb<&shim_get_async_event>::call("ibv_get_async_event", "IBVERBS_1.1", -1, context, event);
}

MRC_OFFER("ibv_query_device", "1.1") int shim_query_device(ibv_context *context, ibv_device_attr *attributes)
{
    return ours(context)
               ? verbs::query_device(context, attributes)
               : real_verb<&shim_query_device>::call("ibv_query_device", "IBVERBS_1.1", ENOSYS, context, attributes);
}

// Of programs that were built before ibv_port_attr grew: it ends with `flags` here.
MRC_OFFER("ibv_query_port", "1.1")
int shim_query_port(ibv_context *context, std::uint8_t port, _compat_ibv_port_attr *attributes)
{
    return ours(context)
               ? verbs::query_port(context, port, reinterpret_cast<ibv_port_attr *>(attributes),
                                   offsetof(ibv_port_attr, port_cap_flags2))
               : real_verb<&shim_query_port>::call("ibv_query_port", "IBVERBS_1.1", ENOSYS, context, port, attributes);
}

MRC_OFFER("ibv_query_port_speed", "1.16")
int shim_query_port_speed(ibv_context *context, std::uint32_t port, std::uint64_t *speed)
{
    return ours(context) ? verbs::query_port_speed(context, port, speed)
                         : real_verb<&shim_query_port_speed>::call("ibv_query_port_speed", "IBVERBS_1.16", ENOSYS,
                                                                   context, port, speed);
}

MRC_OFFER("ibv_query_gid", "1.1")
int shim_query_gid(ibv_context *context, std::uint8_t port, int index, ibv_gid *gid)
{
    return ours(context)
               ? verbs::query_gid(context, port, index, gid)
               : real_verb<&shim_query_gid>::call("ibv_query_gid", "IBVERBS_1.1", -1, context, port, index, gid);
}

MRC_OFFER("_ibv_query_gid_ex", "1.11")
int shim_query_gid_ex(ibv_context *context, std::uint32_t port, std::uint32_t index, ibv_gid_entry *entry,
                      std::uint32_t flags, std::size_t size)
{
    return ours(context) ? verbs::query_gid_ex(context, port, index, entry, flags, size)
                         : real_verb<&shim_query_gid_ex>::call("_ibv_query_gid_ex", "IBVERBS_1.11", ENOSYS, context,
                                                               port, index, entry, flags, size);
}

MRC_OFFER("_ibv_query_gid_table", "1.11")
ssize_t shim_query_gid_table(ibv_context *context, ibv_gid_entry *entries, std::size_t room, std::uint32_t flags,
                             std::size_t size)
{
    return ours(context) ? verbs::query_gid_table(context, entries, room, flags, size)
                         : real_verb<&shim_query_gid_table>::call("_ibv_query_gid_table", "IBVERBS_1.11", -ENOSYS,
                                                                  context, entries, room, flags, size);
}

// Private to libibverbs, where its version changes with every release; offered without one, it answers for all.
// ibv_devinfo -v asks it.
__attribute__((visibility("default"))) int ibv_query_gid_type(ibv_context *context, std::uint8_t port,
                                                              unsigned int index, int *type)
{
    return ours(context)
               ? verbs::query_gid_type(context, port, index, type)
               : real_verb<&ibv_query_gid_type>::call("ibv_query_gid_type", nullptr, -1, context, port, index, type);
}

MRC_OFFER("ibv_query_pkey", "1.1")
int shim_query_pkey(ibv_context *context, std::uint8_t port, int index, __be16 *pkey)
{
    return ours(context)
               ? verbs::query_pkey(context, port, index, pkey)
               : real_verb<&shim_query_pkey>::call("ibv_query_pkey", "IBVERBS_1.1", -1, context, port, index, pkey);
}

MRC_OFFER("ibv_get_pkey_index", "1.5") int shim_get_pkey_index(ibv_context *context, std::uint8_t port, __be16 pkey)
{
    return ours(context)
               ? verbs::get_pkey_index(context, port, pkey)
               : real_verb<&shim_get_pkey_index>::call("ibv_get_pkey_index", "IBVERBS_1.5", -1, context, port, pkey);
}

} // extern "C"
