// SPDX-License-Identifier: Apache-2.0
#include "client/verbs/device_lists.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "client/boundary.h"
#include "client/verbs/objects.h"

namespace mrc::client
{

namespace
{

// An array of ours, and the real library's that its tail was copied from: devices in it live as long as that does.
struct device_list {
    std::vector<ibv_device *> devices; // ends with nullptr
    ibv_device **real = nullptr;
};

struct list_registry {
    std::mutex mutex;
    std::vector<device_list> lists;
};

list_registry &kept_lists()
{
    static auto *const only = new list_registry; // never deleted: programs call from exit handlers
    return *only;
}

ibv_device **only_real(int *count, const real_lister &real)
{
    if (real.get != nullptr)
        return real.get(count);
    if (count != nullptr)
        *count = 0;
    const std::lock_guard lock{kept_lists().mutex};
    return kept_lists().lists.emplace_back(std::vector<ibv_device *>{nullptr}).devices.data();
}

// Nobody else has devices either: the reason is why ours is missing.
result<ibv_device **> real_or(const session_error &missing, int *count, const real_lister &real)
{
    int found = 0;
    ibv_device **list = real.get != nullptr ? real.get(&found) : nullptr;
    if (list != nullptr && found == 0) {
        real.free(list);
        list = nullptr;
    }
    if (count != nullptr)
        *count = list != nullptr ? found : 0;
    if (list == nullptr)
        return std::unexpected{missing};
    return list;
}

ibv_device **joined(std::vector<ibv_device *> devices, int *count, const real_lister &real)
{
    int real_count = 0;
    device_list list;
    list.real =
        real.get != nullptr ? real.get(&real_count) : nullptr; // a host without RDMA has an error here: no matter
    if (list.real != nullptr)
        std::copy_n(list.real, real_count, std::back_inserter(devices));
    if (count != nullptr)
        *count = static_cast<int>(devices.size());
    devices.push_back(nullptr);
    list.devices = std::move(devices);
    const std::lock_guard lock{kept_lists().mutex};
    return kept_lists().lists.emplace_back(std::move(list)).devices.data();
}

} // namespace

ibv_device **get_device_list(int *count, const real_lister &real) noexcept
{
    const int before = errno;
    return value_or_errno<ibv_device **>(nullptr, [&]() -> result<ibv_device **> {
        auto ours = verbs::reachable_devices();
        errno = before;
        remember_failure(ours.missing ? ours.missing->text : std::string{});
        if (ours.devices.empty())
            return ours.missing ? real_or(*ours.missing, count, real) : only_real(count, real);
        ibv_device **list = joined(std::move(ours.devices), count, real);
        errno = before;
        return list;
    });
}

void free_device_list(ibv_device **list, const real_lister &real) noexcept
{
    std::unique_lock lock{kept_lists().mutex};
    auto &lists = kept_lists().lists;
    const auto found =
        std::ranges::find_if(lists, [&](const device_list &each) { return each.devices.data() == list; });
    ibv_device **foreign = list;
    if (found != lists.end()) {
        foreign = found->real;
        std::swap(*found, lists.back());
        lists.pop_back();
    }
    lock.unlock();
    if (foreign != nullptr && real.free != nullptr)
        real.free(foreign);
}

} // namespace mrc::client
