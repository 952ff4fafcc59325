// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/device.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernel/unique_fd.h"
#include "tools/mrc-switch/pins.h"
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace mrc::lab_switch
{
namespace
{

// Places of the two counters in a line of /proc/net/dev, behind the device's name.
constexpr std::size_t rx_dropped_column = 3;
constexpr std::size_t tx_dropped_column = 11;

void read_interface_drops(pid_t owner, const std::string &device, device_counters &counters)
{
    std::ifstream lines{fmt::format("/proc/{}/net/dev", owner)};
    std::string line;

    while (std::getline(lines, line)) {
        std::istringstream words{line};
        std::string name;
        words >> name;
        if (name != device + ":")
            continue;
        std::uint64_t value = 0;
        for (std::size_t column = 0; words >> value; column++) {
            if (column == rx_dropped_column)
                counters["rx_dropped"] = value;
            if (column == tx_dropped_column)
                counters["tx_dropped"] = value;
        }
    }
}

bool ask(int socket, const std::string &device, void *request)
{
    ifreq call{};

    std::copy_n(device.data(), std::min<std::size_t>(device.size(), IFNAMSIZ - 1), call.ifr_name);
    call.ifr_data = static_cast<char *>(request);
    return ioctl(socket, SIOCETHTOOL, &call) == 0;
}

// Word-aligned room for an ethtool request with `bytes` behind its fixed part.
template <class request_type>
std::vector<std::uint64_t> room_for(std::size_t bytes)
{
    return std::vector<std::uint64_t>((sizeof(request_type) + bytes) / sizeof(std::uint64_t) + 1);
}

std::size_t count_statistics(int socket, const std::string &device)
{
    auto room = room_for<ethtool_sset_info>(sizeof(__u32));
    auto *request = reinterpret_cast<ethtool_sset_info *>(room.data());

    request->cmd = ETHTOOL_GSSET_INFO;
    request->sset_mask = 1ULL << ETH_SS_STATS;
    if (!ask(socket, device, request) || request->sset_mask == 0)
        return 0;
    __u32 count = 0;
    std::memcpy(&count, reinterpret_cast<const std::byte *>(request) + sizeof(*request), sizeof(count));
    return count;
}

void read_driver_drops(const std::string &device, device_counters &counters)
{
    const kernel::unique_fd socket{::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const std::size_t count = socket ? count_statistics(socket.get(), device) : 0;
    auto name_room = room_for<ethtool_gstrings>(count * ETH_GSTRING_LEN);
    auto value_room = room_for<ethtool_stats>(count * sizeof(__u64));
    auto *names = reinterpret_cast<ethtool_gstrings *>(name_room.data());
    auto *values = reinterpret_cast<ethtool_stats *>(value_room.data());

    names->cmd = ETHTOOL_GSTRINGS;
    names->string_set = ETH_SS_STATS;
    names->len = static_cast<__u32>(count);
    values->cmd = ETHTOOL_GSTATS;
    values->n_stats = static_cast<__u32>(count);
    if (count == 0 || !ask(socket.get(), device, names) || !ask(socket.get(), device, values))
        return;
    const auto *name_bytes = reinterpret_cast<const char *>(names) + sizeof(*names);
    const auto *value_bytes = reinterpret_cast<const std::byte *>(values) + sizeof(*values);
    for (std::size_t i = 0; i < count; i++) {
        const char *text = name_bytes + i * ETH_GSTRING_LEN;
        const std::string name{text, strnlen(text, ETH_GSTRING_LEN)};
        std::uint64_t value = 0;
        std::memcpy(&value, value_bytes + i * sizeof(value), sizeof(value));
        if (value != 0 && (name.find("drop") != std::string::npos || name.find("err") != std::string::npos))
            counters[name] = value;
    }
}

// Nothing when the device does not know the request.
std::optional<__u32> exchange(const std::string &device, __u32 command, __u32 data)
{
    const kernel::unique_fd socket{::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    ethtool_value value{.cmd = command, .data = data};

    return socket && ask(socket.get(), device, &value) ? std::optional{value.data} : std::nullopt;
}

} // namespace

bool has_receive_offload(const std::string &device)
{
    return exchange(device, ETHTOOL_GGRO, 0).value_or(0) != 0;
}

without_receive_offload::without_receive_offload(std::string device, bool had_it)
    : device_{std::move(device)}, had_it_{had_it}
{
    if (!exchange(device_, ETHTOOL_SGRO, 0))
        throw switch_error{
            fmt::format("port {}: turning generic receive offload off: {}", device_, std::strerror(errno))};
}

without_receive_offload::~without_receive_offload()
{
    if (had_it_)
        (void)exchange(device_, ETHTOOL_SGRO, 1);
}

device_counters read_drops(pid_t owner, const std::string &device)
{
    device_counters counters;
    const kernel::unique_fd home{open(fmt::format("/proc/{}/ns/net", owner).c_str(), O_RDONLY | O_CLOEXEC)};

    read_interface_drops(owner, device, counters);
    if (!home)
        return counters;
    // A namespace is a property of a thread; one that ends afterwards leaves this process where it was.
    std::jthread{[&] {
        if (setns(home.get(), CLONE_NEWNET) == 0)
            read_driver_drops(device, counters);
    }}.join();
    return counters;
}

} // namespace mrc::lab_switch
