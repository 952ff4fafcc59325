// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/config.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "mrc/abi/switch_maps.h"
#include "options/kinds.h"
#include "options/read.h"
#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mrc::lab_switch
{
namespace
{

constexpr std::size_t pin_path_longest = 200; // leaves room for the names of maps below it

struct usid_prefix {
    usid_block block;
    std::uint16_t usid = 0;
};

std::optional<usid_prefix> parse_usid(const std::string &text)
{
    const std::size_t slash = text.find('/');
    std::array<std::uint8_t, 16> bytes{};

    static constexpr std::array<std::pair<std::string_view, std::uint8_t>, 4> lengths{
        {{"/32", 2}, {"/48", 4}, {"/64", 6}, {"/80", 8}}}; // with the uSID, and bytes of the block
    const auto length = slash == std::string::npos
                            ? lengths.end()
                            : std::ranges::find(lengths, text.substr(slash), &decltype(lengths)::value_type::first);
    if (length == lengths.end() || inet_pton(AF_INET6, text.substr(0, slash).c_str(), bytes.data()) != 1)
        return std::nullopt;
    usid_prefix prefix;
    prefix.block.length = length->second;
    std::copy_n(bytes.begin(), prefix.block.length, prefix.block.bytes.begin());
    const auto usid = bytes.begin() + prefix.block.length;
    if (std::any_of(usid + MRC_USID_BYTES, bytes.end(), [](std::uint8_t byte) { return byte != 0; }))
        return std::nullopt;
    prefix.usid = static_cast<std::uint16_t>(usid[0] << 8 | usid[1]);
    return prefix.usid == 0 ? std::nullopt : std::optional(prefix);
}

std::optional<mac_address> parse_mac(const std::string &text)
{
    mac_address mac{};
    int used = 0;

    if (std::sscanf(text.c_str(), "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", mac.data(), &mac[1], &mac[2], &mac[3],
                    &mac[4], &mac[5], &used) != 6 ||
        static_cast<std::size_t>(used) != text.size() || (mac[0] & 1) != 0)
        return std::nullopt;
    return mac;
}

struct usid_kind {
    [[nodiscard]] static std::string allowed()
    {
        return R"(a block of 16, 32, 48 or 64 bits and a uSID that is not 0, such as "fcbb:bb00:2000::/48")";
    }
    [[nodiscard]] static bool read(const options::value &from, usid_prefix &to)
    {
        const auto parsed = from.text() == nullptr ? std::nullopt : parse_usid(*from.text());
        to = parsed.value_or(to);
        return parsed.has_value();
    }
};

struct mac_kind {
    [[nodiscard]] static std::string allowed() { return R"(a unicast MAC address such as "02:00:00:00:00:01")"; }
    [[nodiscard]] static bool read(const options::value &from, mac_address &to)
    {
        const auto parsed = from.text() == nullptr ? std::nullopt : parse_mac(*from.text());
        to = parsed.value_or(to);
        return parsed.has_value();
    }
};

// As it stands in the file: ports by their devices.
struct route_row {
    usid_prefix prefix{};
    std::string port;
    mac_address mac{};
};

struct switch_file {
    switch_config config;
    usid_prefix own{};
    std::vector<route_row> routes;
};

const options::table_of<switch_file> &switch_options()
{
    using namespace options;
    static const auto port = table_of<port_config>{}
                                 .add("device", device_name{}, &port_config::device, required)
                                 .add("host_facing", flag{}, &port_config::host_facing);
    static const auto route = table_of<route_row>{}
                                  .add("usid", usid_kind{}, &route_row::prefix, required)
                                  .add("port", string_value{"a [[port]]'s device"}, &route_row::port, required)
                                  .add("mac", mac_kind{}, &route_row::mac, required);
    const auto in_config = [](auto member) { return [member](auto &file) -> auto & { return file.config.*member; }; };
    static const auto all =
        table_of<switch_file>{}
            .add("name", string_value{"the switch's name, up to 31 characters", MRC_SW_NAME_BYTES - 1},
                 in_config(&switch_config::name), required)
            .add("usid", usid_kind{}, &switch_file::own, required)
            .add("forward", one_of<forwarding>({{"xdp", forwarding::xdp}, {"kernel", forwarding::kernel}}),
                 in_config(&switch_config::forward))
            .add("mode",
                 one_of<switch_xdp_mode>({{"native", switch_xdp_mode::native}, {"generic", switch_xdp_mode::generic}}),
                 in_config(&switch_config::mode))
            .add("pin", absolute_path{pin_path_longest, ", on a BPF file system"}, in_config(&switch_config::pin),
                 required)
            .add("share", absolute_path{pin_path_longest, ", on a BPF file system"}, in_config(&switch_config::share),
                 presence{.default_note = "none"})
            .add_rows("port", port, in_config(&switch_config::ports),
                      {.one_per = "port", .least = 1, .most = MRC_SW_MAX_PORTS})
            .add_rows("route", route, &switch_file::routes, {.one_per = "route", .most = MRC_SW_MAX_ROUTES});
    return all;
}

// What must hold between several options, and what follows from them.
class row_completion
{
public:
    row_completion(switch_file &file, const options::origins &origin)
        : file_{file}, config_{file.config}, origin_{origin}
    {
    }

    void run()
    {
        config_.block = file_.own.block;
        config_.usid = file_.own.usid;
        for (const port_config &port : config_.ports)
            devices_.push_back(port.device);
        for (std::size_t row = 0; row < devices_.size(); ++row)
            if (std::ranges::find(devices_, devices_[row]) != devices_.begin() + static_cast<std::ptrdiff_t>(row))
                fail(fmt::format("port[{}].device", row), options::toml_string(devices_[row]),
                     "each device once per file");
        for (std::size_t row = 0; row < file_.routes.size(); ++row)
            add_route(file_.routes[row], fmt::format("route[{}].", row));
    }

private:
    void add_route(const route_row &route, const std::string &name)
    {
        const auto port = std::ranges::find(devices_, route.port);
        if (port == devices_.end())
            fail(name + "port", options::toml_string(route.port),
                 fmt::format("a [[port]]'s device: {}", fmt::join(devices_, ", ")));
        if (route.prefix.block != config_.block)
            fail(name + "usid", "another uSID block than the switch's own", "uSIDs of one block");
        if (route.prefix.usid == config_.usid ||
            std::ranges::find(config_.routes, route.prefix.usid, &route_config::usid) != config_.routes.end())
            fail(name + "usid", fmt::format("uSID {:04x} a second time", route.prefix.usid),
                 "one route a uSID, none for the own");
        config_.routes.push_back(
            {.usid = route.prefix.usid, .port = static_cast<std::size_t>(port - devices_.begin()), .mac = route.mac});
    }
    [[noreturn]] void fail(std::string key, const std::string &found, const std::string &allowed) const
    {
        throw switch_config_error{
            origin_.error_at(std::move(key), fmt::format("found {}, allowed is {}", found, allowed)).text()};
    }

    switch_file &file_;
    switch_config &config_;
    const options::origins &origin_;
    std::vector<std::string> devices_;
};

template <class T>
T value_or_throw(options::result<T> result)
{
    if (!result)
        throw switch_config_error{result.error().text()};
    return *std::move(result);
}

} // namespace

switch_config parse_config(const std::string &text, const std::string &path)
{
    switch_file file;
    const auto origin = value_or_throw(options::read(text, path, switch_options(), file));
    row_completion{file, origin}.run();
    return file.config;
}

switch_config read_config(const std::string &path)
{
    return parse_config(value_or_throw(options::read_file(path)), path);
}

} // namespace mrc::lab_switch
