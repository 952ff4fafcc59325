// SPDX-License-Identifier: Apache-2.0
// Queries of a virtual device: attributes, ports, P_Keys, GIDs.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include <endian.h>

#include "client/boundary.h"
#include "client/limits.h"
#include "client/verbs/objects.h"

namespace mrc::client::verbs
{

namespace
{

constexpr std::uint16_t only_pkey = 0xffff;
constexpr std::uint8_t width_1x = 1;
constexpr std::uint8_t width_2x = 16;
constexpr std::uint8_t width_4x = 2;
constexpr std::uint8_t width_8x = 4;
constexpr std::uint8_t phys_link_up = 5;
constexpr std::uint8_t phys_disabled = 3;
constexpr std::uint64_t megabit = 1'000'000;

// Speed of a link as InfiniBand writes it: lanes, and a code for the speed of one.
struct link_speed {
    std::uint64_t up_to_megabits;
    std::uint8_t width;
    std::uint8_t speed;
};

// As the kernel's RoCE drivers translate Ethernet speeds.
constexpr std::array speeds{
    link_speed{1'000, width_1x, 1},     link_speed{10'000, width_1x, 8},
    link_speed{20'000, width_4x, 2},    link_speed{25'000, width_1x, 32},
    link_speed{40'000, width_4x, 8},    link_speed{50'000, width_2x, 32},
    link_speed{100'000, width_4x, 32},  link_speed{200'000, width_4x, 64},
    link_speed{400'000, width_4x, 128}, link_speed{std::numeric_limits<std::uint64_t>::max(), width_8x, 128}};

link_speed speed_of(std::uint64_t bits_per_second)
{
    return *std::ranges::find_if(
        speeds, [&](const link_speed &each) { return bits_per_second / megabit <= each.up_to_megabits; });
}

int limited(std::uint64_t value)
{
    return static_cast<int>(std::min<std::uint64_t>(value, std::numeric_limits<int>::max()));
}

ibv_device_attr attributes_of(const host_description &host)
{
    ibv_device_attr attributes{};
    std::snprintf(attributes.fw_ver, sizeof(attributes.fw_ver), "mrcd");
    attributes.node_guid = host.guid;
    attributes.sys_image_guid = host.guid;
    attributes.max_mr_size = host.max_region_bytes;
    attributes.page_size_cap = ~std::uint64_t{0xfff};
    attributes.max_qp = limited(host.max_qps);
    attributes.max_qp_wr = limited(host.max_work_requests);
    attributes.device_cap_flags = IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_CURR_QP_STATE_MOD;
    attributes.max_sge = max_sge;
    attributes.max_cq = limited(host.max_cqs);
    attributes.max_cqe = limited(host.max_cq_entries);
    attributes.max_mr = limited(host.max_regions);
    attributes.max_pd = limited(host.max_regions);
    attributes.atomic_cap = IBV_ATOMIC_NONE;
    attributes.max_pkeys = 1;
    attributes.phys_port_cnt = static_cast<std::uint8_t>(host.ports.size());
    return attributes;
}

// EINVAL for ports that the host does not have.
result<host_description> describe_with(const ibv_context *context, std::uint32_t port)
{
    auto host = device_of(context)->describe();
    if (host && (port == 0 || port > host->ports.size()))
        return refused(EINVAL, "no such port");
    return host;
}

ibv_port_attr attributes_of(const host_description &host, const host_port &port)
{
    const link_speed speed = speed_of(port.bits_per_second);
    ibv_port_attr attributes{};
    attributes.state = port.up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    attributes.max_mtu = IBV_MTU_4096;
    attributes.active_mtu = active_mtu(host);
    attributes.gid_tbl_len = gid_table_length;
    attributes.port_cap_flags = IBV_PORT_IP_BASED_GIDS;
    attributes.max_msg_sz = max_message_bytes;
    attributes.pkey_tbl_len = 1;
    attributes.max_vl_num = 1;
    attributes.active_width = speed.width;
    attributes.active_speed = speed.speed;
    attributes.phys_state = port.up ? phys_link_up : phys_disabled;
    attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
    return attributes;
}

// Callers of other releases of verbs.h have longer or shorter structures: what they have beyond ours is 0.
template <typename Value>
void copy_out(void *to, std::size_t size, const Value &value)
{
    std::memset(to, 0, size);
    std::memcpy(to, &value, std::min(size, sizeof(value)));
}

} // namespace

int query_device(ibv_context *context, ibv_device_attr *attributes) noexcept
{
    return code_of([&]() -> result<void> {
        const auto host = device_of(context)->describe();
        if (!host)
            return std::unexpected{host.error()};
        *attributes = attributes_of(*host);
        return {};
    });
}

int query_device_ex(ibv_context *context, const ibv_query_device_ex_input *input, ibv_device_attr_ex *attributes,
                    std::size_t size) noexcept
{
    return code_of([&]() -> result<void> {
        if ((input != nullptr && input->comp_mask != 0) || size < sizeof(ibv_device_attr))
            return refused(EINVAL, "arguments of another interface");
        const auto host = device_of(context)->describe();
        if (!host)
            return std::unexpected{host.error()};
        ibv_device_attr_ex all{};
        all.orig_attr = attributes_of(*host);
        all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
        all.phys_port_cnt_ex = all.orig_attr.phys_port_cnt;
        copy_out(attributes, size, all);
        return {};
    });
}

int query_port(ibv_context *context, std::uint8_t port, ibv_port_attr *attributes, std::size_t size) noexcept
{
    return code_of([&]() -> result<void> {
        const auto host = describe_with(context, port);
        if (!host)
            return std::unexpected{host.error()};
        copy_out(attributes, size, attributes_of(*host, host->ports[port - 1U]));
        return {};
    });
}

int query_port_speed(ibv_context *context, std::uint32_t port, std::uint64_t *speed) noexcept
{
    return code_of([&]() -> result<void> {
        const auto host = describe_with(context, port);
        if (!host)
            return std::unexpected{host.error()};
        *speed = host->ports[port - 1U].bits_per_second / (100 * megabit);
        return {};
    });
}

int query_pkey(ibv_context *context, std::uint8_t port, int index, __be16 *pkey) noexcept
{
    return minus_one_of([&]() -> result<void> {
        const auto host = describe_with(context, port);
        if (!host)
            return std::unexpected{host.error()};
        if (index != 0)
            return refused(EINVAL, "beyond the table");
        *pkey = htobe16(only_pkey);
        return {};
    });
}

int get_pkey_index(ibv_context *context, std::uint8_t port, __be16 pkey) noexcept
{
    return minus_one_of([&]() -> result<void> {
        const auto host = describe_with(context, port);
        if (!host)
            return std::unexpected{host.error()};
        if (pkey != htobe16(only_pkey))
            return refused(EINVAL, "not in the table");
        return {};
    });
}

int query_gid(ibv_context *context, std::uint8_t port, int index, ibv_gid *gid) noexcept
{
    return minus_one_of([&]() -> result<void> {
        const auto host = describe_with(context, port);
        if (!host)
            return std::unexpected{host.error()};
        if (index < 0 || index >= gid_table_length)
            return refused(EINVAL, "beyond the table");
        *gid = to_gid(gid_at(*host, index).value_or(mrc_ip{})); // an empty entry is no error here
        return {};
    });
}

namespace
{

ibv_gid_entry entry_of(const mrc_ip &address, std::uint32_t port, std::uint32_t index)
{
    return {.gid = to_gid(address),
            .gid_index = index,
            .port_num = port,
            .gid_type = IBV_GID_TYPE_ROCE_V2,
            .ndev_ifindex = 0}; // an address of the host, not of an interface
}

} // namespace

int query_gid_ex(ibv_context *context, std::uint32_t port, std::uint32_t index, ibv_gid_entry *entry,
                 std::uint32_t flags, std::size_t size) noexcept
{
    return code_of([&]() -> result<void> {
        if (flags != 0)
            return refused(EOPNOTSUPP, "no flags are defined");
        const auto host = describe_with(context, port);
        if (!host)
            return std::unexpected{host.error()};
        if (index >= gid_table_length)
            return refused(EINVAL, "beyond the table");
        const auto address = gid_at(*host, static_cast<int>(index));
        if (!address)
            return refused(ENODATA, "empty entry");
        copy_out(entry, size, entry_of(*address, port, index));
        return {};
    });
}

ssize_t query_gid_table(ibv_context *context, ibv_gid_entry *entries, std::size_t room, std::uint32_t flags,
                        std::size_t size) noexcept
{
    ssize_t count = 0;
    const int code = code_of([&]() -> result<void> {
        if (flags != 0)
            return refused(EOPNOTSUPP, "no flags are defined");
        const auto host = device_of(context)->describe();
        if (!host)
            return std::unexpected{host.error()};
        for (std::uint32_t port = 1; port <= host->ports.size(); ++port)
            for (int index = 0; index < gid_table_length; ++index)
                if (const auto address = gid_at(*host, index)) {
                    if (static_cast<std::size_t>(count) == room)
                        return refused(EINVAL, "more entries than room");
                    auto *place = reinterpret_cast<char *>(entries) + static_cast<std::size_t>(count++) * size;
                    copy_out(place, size, entry_of(*address, port, static_cast<std::uint32_t>(index)));
                }
        return {};
    });
    return code == 0 ? count : -code;
}

int query_gid_type(ibv_context *context, std::uint8_t port, unsigned int index, int *type) noexcept
{
    constexpr int sysfs_roce_v2 = 1; // rdma-core's ibv_gid_type_sysfs, which verbs.h does not have
    return minus_one_of([&]() -> result<void> {
        const auto host = describe_with(context, port);
        if (!host)
            return std::unexpected{host.error()};
        if (index >= gid_table_length)
            return refused(EINVAL, "beyond the table");
        *type = sysfs_roce_v2;
        return {};
    });
}

} // namespace mrc::client::verbs
