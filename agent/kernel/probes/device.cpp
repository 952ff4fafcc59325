// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/device.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "kernel/transmit_counter.h"
#include "kernel/unique_fd.h"

namespace mrc::kernel::probes
{

namespace
{

// False when the device or the request is unknown; the answer stands in `request`.
bool ask(unsigned long code, ifreq &request, const std::string &device)
{
    const unique_fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!socket || device.size() >= sizeof(request.ifr_name))
        return false;
    std::memcpy(request.ifr_name, device.c_str(), device.size() + 1);
    return ::ioctl(socket.get(), code, &request) == 0;
}

template <typename Command>
bool ask_ethtool(Command &command, const std::string &device)
{
    ifreq request{};
    request.ifr_data = reinterpret_cast<char *>(&command);
    return ask(SIOCETHTOOL, request, device);
}

std::uint32_t value_of(std::uint32_t number, const std::string &device)
{
    ethtool_value command{.cmd = number, .data = 0};
    return ask_ethtool(command, device) ? command.data : 0;
}

} // namespace

int ifindex_of(const std::string &device)
{
    return static_cast<int>(::if_nametoindex(device.c_str()));
}

codec::mac_address mac_address_of(const std::string &device)
{
    ifreq request{};
    codec::mac_address mac{};
    if (ask(SIOCGIFHWADDR, request, device))
        std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
    return mac;
}

std::uint32_t mtu_of(const std::string &device)
{
    ifreq request{};
    return ask(SIOCGIFMTU, request, device) ? static_cast<std::uint32_t>(request.ifr_mtu) : 0;
}

bool is_running(const std::string &device)
{
    ifreq request{};
    constexpr int both = IFF_UP | IFF_RUNNING;
    return ask(SIOCGIFFLAGS, request, device) && (request.ifr_flags & both) == both;
}

bool is_bonded(const std::string &device)
{
    ifreq request{};
    return ask(SIOCGIFFLAGS, request, device) && (request.ifr_flags & IFF_SLAVE) != 0;
}

std::string driver_of(const std::string &device)
{
    ethtool_drvinfo command{};
    command.cmd = ETHTOOL_GDRVINFO;
    return ask_ethtool(command, device) ? std::string{command.driver} : std::string{};
}

std::string bus_of(const std::string &device)
{
    ethtool_drvinfo command{};
    command.cmd = ETHTOOL_GDRVINFO;
    return ask_ethtool(command, device) ? std::string{command.bus_info} : std::string{};
}

// By the call that every kernel answers, whichever of the two its driver has.
std::optional<std::uint32_t> link_speed_mbps(const std::string &device)
{
    ethtool_cmd command{};
    command.cmd = ETHTOOL_GSET;
    if (!ask_ethtool(command, device))
        return std::nullopt;
    const std::uint32_t speed = ethtool_cmd_speed(&command);
    return speed == 0 || speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? std::nullopt : std::optional{speed};
}

std::optional<std::uint64_t> transmitted_packets(const std::string &device)
{
    return transmit_counter{device}.read();
}

std::optional<std::uint32_t> transmit_ring(const std::string &device)
{
    ethtool_ringparam command{};
    command.cmd = ETHTOOL_GRINGPARAM;
    return ask_ethtool(command, device) && command.tx_pending != 0 ? std::optional{command.tx_pending} : std::nullopt;
}

std::optional<channel_counts> channels_of(const std::string &device)
{
    ethtool_channels command{};
    command.cmd = ETHTOOL_GCHANNELS;
    if (!ask_ethtool(command, device))
        return std::nullopt;
    return channel_counts{
        .receive = command.rx_count, .transmit = command.tx_count, .combined = command.combined_count};
}

bool set_channels(const std::string &device, const channel_counts &counts)
{
    ethtool_channels command{};
    command.cmd = ETHTOOL_GCHANNELS;
    if (!ask_ethtool(command, device))
        return false;
    command.cmd = ETHTOOL_SCHANNELS;
    command.rx_count = counts.receive;
    command.tx_count = counts.transmit;
    command.combined_count = counts.combined;
    return ask_ethtool(command, device);
}

std::uint32_t receive_queues(const std::string &device)
{
    if (const auto channels = channels_of(device))
        return std::max<std::uint32_t>(channels->receive + channels->combined, 1);
    ethtool_rxnfc rings{};
    rings.cmd = ETHTOOL_GRXRINGS;
    return ask_ethtool(rings, device) ? std::max<std::uint32_t>(static_cast<std::uint32_t>(rings.data), 1) : 1;
}

std::vector<std::uint32_t> rss_table(const std::string &device)
{
    ethtool_rxfh_indir size{};
    size.cmd = ETHTOOL_GRXFHINDIR;
    if (!ask_ethtool(size, device) || size.size == 0)
        return {};
    std::vector<std::uint32_t> words(sizeof(size) / sizeof(std::uint32_t) + size.size);
    auto &command = *reinterpret_cast<ethtool_rxfh_indir *>(words.data());
    command.cmd = ETHTOOL_GRXFHINDIR;
    command.size = size.size;
    if (!ask_ethtool(command, device))
        return {};
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(sizeof(size) / sizeof(std::uint32_t)));
    return words;
}

bool set_rss_table(const std::string &device, std::span<const std::uint32_t> table)
{
    std::vector<std::uint32_t> words(sizeof(ethtool_rxfh_indir) / sizeof(std::uint32_t) + table.size());
    auto &command = *reinterpret_cast<ethtool_rxfh_indir *>(words.data());
    command.cmd = ETHTOOL_SRXFHINDIR;
    command.size = static_cast<std::uint32_t>(table.size());
    std::ranges::copy(table, words.end() - static_cast<std::ptrdiff_t>(table.size()));
    return ask_ethtool(command, device);
}

bool has_feature(const std::string &device, std::string_view name)
{
    constexpr std::size_t word = sizeof(std::uint32_t);
    alignas(ethtool_sset_info) std::array<std::uint32_t, sizeof(ethtool_sset_info) / word + 1> size{};
    auto &set = *reinterpret_cast<ethtool_sset_info *>(size.data());
    set.cmd = ETHTOOL_GSSET_INFO;
    set.sset_mask = 1ULL << ETH_SS_FEATURES;
    if (!ask_ethtool(set, device) || set.sset_mask == 0)
        return false;
    const std::uint32_t count = set.data[0];
    std::vector<std::uint32_t> room((sizeof(ethtool_gstrings) + std::size_t{count} * ETH_GSTRING_LEN) / word);
    auto &names = *reinterpret_cast<ethtool_gstrings *>(room.data());
    names.cmd = ETHTOOL_GSTRINGS;
    names.string_set = ETH_SS_FEATURES;
    names.len = count;
    const std::uint32_t blocks = (count + 31) / 32;
    std::vector<std::uint32_t> states((sizeof(ethtool_gfeatures) + blocks * sizeof(ethtool_get_features_block)) / word);
    auto &features = *reinterpret_cast<ethtool_gfeatures *>(states.data());
    features.cmd = ETHTOOL_GFEATURES;
    features.size = blocks;
    if (!ask_ethtool(names, device) || !ask_ethtool(features, device))
        return false;
    const auto *const text = reinterpret_cast<const char *>(names.data);
    for (std::uint32_t at = 0; at < count; ++at)
        if (std::string_view{text + std::size_t{at} * ETH_GSTRING_LEN} == name)
            return (features.features[at / 32].active >> (at % 32) & 1U) != 0;
    return false;
}

offloads offloads_of(const std::string &device)
{
    const std::uint32_t flags = value_of(ETHTOOL_GFLAGS, device);
    return {.transmit_checksum = value_of(ETHTOOL_GTXCSUM, device) != 0,
            .segmentation = value_of(ETHTOOL_GTSO, device) != 0,
            .generic_receive = value_of(ETHTOOL_GGRO, device) != 0,
            .large_receive = (flags & ETH_FLAG_LRO) != 0,
            .hardware_generic_receive = has_feature(device, "rx-gro-hw"),
            .ntuple_filters = (flags & ETH_FLAG_NTUPLE) != 0};
}

bool set_transmit_checksum(const std::string &device, bool on)
{
    ethtool_value command{.cmd = ETHTOOL_STXCSUM, .data = on ? 1U : 0U};
    return ask_ethtool(command, device);
}

} // namespace mrc::kernel::probes
