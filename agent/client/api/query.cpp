// SPDX-License-Identifier: Apache-2.0
// Versions and capabilities: the functions of mrc.h and mrc_ctl.h that need no object of theirs.
#include <cerrno>
#include <cstdint>

#include <mrc.h>
#include <mrc_ctl.h>

#include "client/boundary.h"
#include "client/export.h"
#include "client/limits.h"
#include "client/verbs/device.h"

namespace mrc::client
{

namespace
{

mrc_device_attr capabilities_of(const host_description &host)
{
    return {
        .mrc_protocol_version = MRC_PROTOCOL_VERSION_1,
        .wimm_attr = {.max_wimm = host.max_wimm, .max_wimm_dest = host.max_wimm},
        .mpr_attr = {.max_mpr = host.max_mpr, .mpr_resolution = mpr_resolution},
        .qp_attr = {.max_qp_hint = max_qp_hints},
        .cap = MRC_DEVICE_CAP_TRIM_NACK | MRC_DEVICE_CAP_DYNAMIC_MPR | MRC_DEVICE_CAP_SVC_TIME,
    };
}

void store_version(std::uint32_t *where, std::uint32_t version)
{
    if (where != nullptr)
        *where = version;
}

result<void> query(const ibv_context *context, mrc_device_attr *attributes, int *supported)
{
    if (context == nullptr || attributes == nullptr || supported == nullptr)
        return refused(EINVAL, "null pointer");
    const device *one = device_of(context);
    *attributes = {};
    *supported = 0;
    if (one == nullptr)
        return {}; // a real RDMA device
    const auto host = one->describe();
    if (!host)
        return std::unexpected{host.error()};
    *attributes = capabilities_of(*host);
    *supported = 1;
    return {};
}

} // namespace

} // namespace mrc::client

extern "C" {

MRC_EXPORT int mrc_query_device(ibv_context *context, mrc_device_attr *attr, int *supported)
{
    return mrc::client::minus_one_of([&] { return mrc::client::query(context, attr, supported); });
}

MRC_EXPORT int mrc_query_device_ex(ibv_context *context, mrc_context *mcontext, mrc_device_attr *attr, int *supported)
{
    using namespace mrc::client;
    return minus_one_of([&]() -> result<void> {
        // A real device has no MRC context to be given.
        if (device_of(context) != nullptr && mcontext == nullptr)
            return refused(EINVAL, "null pointer");
        return query(context, attr, supported);
    });
}

MRC_EXPORT void mrc_query_version(std::uint32_t *current_version, std::uint32_t *last_supported_version,
                                  std::uint32_t *vendor_version, std::uint32_t *last_supported_vendor_version)
{
    using mrc::client::store_version;
    store_version(current_version, MRC_API_CURRENT_VERSION);
    store_version(last_supported_version, MRC_API_LAST_SUPPORTED_VERSION);
    store_version(vendor_version, MRC_VENDOR_API_CURRENT_VERSION);
    store_version(last_supported_vendor_version, MRC_VENDOR_API_LAST_SUPPORTED_VERSION);
}

MRC_EXPORT void mrc_ctl_query_version(std::uint32_t *current_version, std::uint32_t *last_supported_version,
                                      std::uint32_t *vendor_version, std::uint32_t *last_supported_vendor_version)
{
    using mrc::client::store_version;
    store_version(current_version, MRC_CTL_API_CURRENT_VERSION);
    store_version(last_supported_version, MRC_CTL_API_LAST_SUPPORTED_VERSION);
    store_version(vendor_version, MRC_CTL_VENDOR_API_CURRENT_VERSION);
    store_version(last_supported_vendor_version, MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION);
}

} // extern "C"
