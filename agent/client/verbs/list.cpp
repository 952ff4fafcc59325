// SPDX-License-Identifier: Apache-2.0
// The table of virtual devices. Its rows are taken once and never given back: programs use device pointers after they
// have freed the list, and after they have closed the device.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/boundary.h"
#include "client/limits.h"
#include "client/session_source.h"
#include "client/verbs/objects.h"
#include "client/verbs/queues.h"

namespace mrc::client
{

namespace
{

constexpr std::size_t max_devices = 64;

struct table_row {
    daemon_instance where; // name empty: free
    std::uint64_t guid = 0;
};

struct device_table {
    std::mutex mutex; // rows
    std::array<table_row, max_devices> rows;
    std::array<ibv_device, max_devices> devices{};

    // The row of an instance, taken from the free ones when it is new; nothing when there is none.
    std::optional<std::size_t> row_of(const daemon_instance &where);
};

device_table &table()
{
    static auto *const only = new device_table; // never deleted: programs call from exit handlers
    return *only;
}

template <std::size_t N>
void write_text(char (&to)[N], const std::string &text)
{
    std::snprintf(to, N, "%s", text.c_str());
}

// The paths lead nowhere on purpose: what reads sysfs finds nothing, and must do without.
void name(ibv_device &one, const std::string &number)
{
    one.node_type = IBV_NODE_CA;
    one.transport_type = IBV_TRANSPORT_IB; // as RoCE NICs
    write_text(one.name, "mrc" + number);
    write_text(one.dev_name, "mrc_uverbs" + number);
    write_text(one.dev_path, "/nonexistent/mrc/infiniband_verbs/mrc_uverbs" + number);
    write_text(one.ibdev_path, "/nonexistent/mrc/infiniband/mrc" + number);
}

std::optional<std::size_t> device_table::row_of(const daemon_instance &where)
{
    const auto row = std::ranges::find_if(
        rows, [&](const table_row &each) { return each.where.name.empty() || each.where.name == where.name; });
    if (row == rows.end())
        return std::nullopt;
    const auto index = static_cast<std::size_t>(row - rows.begin());
    if (row->where.name.empty())
        name(devices[index], std::to_string(index));
    row->where = where;
    return index;
}

std::size_t index_of(const ibv_device *one)
{
    return static_cast<std::size_t>(one - table().devices.data());
}

// A daemon that was not asked for and is not there (its socket is left over) is no device that is missing.
bool has_report(const daemon_instance &where, const session_error &error)
{
    return where.is_named || (error.code != ECONNREFUSED && error.code != ENOENT);
}

} // namespace

bool is_virtual(const ibv_device *one)
{
    const auto &devices = table().devices;
    return std::less_equal<>{}(devices.data(), one) && std::less<>{}(one, devices.data() + devices.size());
}

namespace verbs
{

reachable_list reachable_devices()
{
    reachable_list found;
    const std::vector<daemon_instance> all = current_session_source().find();
    const auto hosts = current_session_source().describe(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto &host = hosts[i];
        if (!host) {
            if (!found.missing && has_report(all[i], host.error()))
                found.missing = session_error{host.error().code, "instance " + all[i].name + ": " + host.error().text};
            continue;
        }
        const std::lock_guard lock{table().mutex};
        if (const auto row = table().row_of(all[i])) {
            table().rows[*row].guid = host->guid;
            found.devices.push_back(&table().devices[*row]);
        }
    }
    return found;
}

const char *device_name(const ibv_device *one) noexcept
{
    return one->name;
}

__be64 device_guid(const ibv_device *one) noexcept
{
    const std::lock_guard lock{table().mutex};
    return table().rows[index_of(one)].guid;
}

namespace
{

daemon_instance instance_of(const ibv_device *one)
{
    const std::lock_guard lock{table().mutex};
    return table().rows[index_of(one)].where;
}

result<ibv_context *> opened(ibv_device *one)
{
    const auto daemon = current_session_source().open(instance_of(one));
    if (!daemon)
        return std::unexpected{daemon.error()};
    const auto host = (*daemon)->describe();
    if (!host)
        return std::unexpected{host.error()};
    auto identity = std::make_unique<device>(one, *daemon, *host);
    auto *made = new virtual_context{};
    made->verbs.sz = sizeof(verbs_context);
    made->verbs.query_port = &query_port;
    made->verbs.query_device_ex = &query_device_ex;
    ibv_context &context = made->verbs.context;
    context.device = one;
    context.cmd_fd = -1;
    context.async_fd = identity->event_fd();
    offer_queues(context.ops);
    context.num_comp_vectors = completion_vectors;
    context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    ::pthread_mutex_init(&context.mutex, nullptr);
    made->owner = identity.release();
    return &context;
}

} // namespace

ibv_context *open_device(ibv_device *one) noexcept
{
    return value_or_errno<ibv_context *>(nullptr, [&] { return opened(one); });
}

int close_device(ibv_context *context) noexcept
{
    return minus_one_of([&]() -> result<void> {
        if (auto owner = device_of(context)->check_owner(); !owner)
            return owner;
        if (auto closed = device_of(context)->close_queues(); !closed)
            return closed;
        ::pthread_mutex_destroy(&context->mutex);
        auto *bytes = reinterpret_cast<char *>(context) - offsetof(virtual_context, verbs.context);
        const std::unique_ptr<virtual_context> memory{reinterpret_cast<virtual_context *>(bytes)};
        delete memory->owner;
        return {};
    });
}

int get_async_event(ibv_context *context, ibv_async_event *event) noexcept
{
    return minus_one_of([&]() -> result<void> {
        if (auto owner = device_of(context)->check_owner(); !owner)
            return owner;
        const auto happened = device_of(context)->next_event();
        if (!happened)
            return std::unexpected{happened.error()};
        *event = *happened;
        return {};
    });
}

} // namespace verbs

} // namespace mrc::client
