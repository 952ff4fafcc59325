// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "mrc/abi/switch_maps.h"
#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

namespace mrc::lab_switch
{
namespace
{

constexpr const char *usid_allowed =
    R"(a /48 of a 32-bit block and a uSID that is not 0, such as "fcbb:bb00:2000::/48")";
constexpr const char *mac_allowed = R"(a unicast MAC address such as "02:00:00:00:00:01")";

struct usid_prefix {
    std::array<std::uint8_t, 4> block;
    std::uint16_t usid;
};

std::optional<usid_prefix> parse_usid(const std::string &text)
{
    const std::size_t slash = text.find('/');
    std::array<std::uint8_t, 16> bytes{};

    if (slash == std::string::npos || text.substr(slash) != "/48" ||
        inet_pton(AF_INET6, text.substr(0, slash).c_str(), bytes.data()) != 1)
        return std::nullopt;
    if (std::any_of(bytes.begin() + 6, bytes.end(), [](std::uint8_t byte) { return byte != 0; }))
        return std::nullopt;
    usid_prefix prefix{};
    std::copy_n(bytes.begin(), prefix.block.size(), prefix.block.begin());
    prefix.usid = static_cast<std::uint16_t>(bytes[4] << 8 | bytes[5]);
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

std::string shown(const toml::node &node)
{
    std::ostringstream out;

    node.visit([&out](const auto &value) { out << value; });
    return out.str();
}

// A table of the file: hands out its keys, remembers which exist, and refuses the rest.
class table_reader
{
public:
    table_reader(const std::string &path, const toml::table &table, std::string name)
        : path_{path}, table_{table}, name_{std::move(name)}
    {
    }

    [[noreturn]] void fail(std::string_view key, const std::string &found, const std::string &allowed) const
    {
        const toml::node *node = table_.get(key);
        const auto line = (node != nullptr ? node->source() : table_.source()).begin.line;
        const std::string full = name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);

        throw config_error{fmt::format("{}:{}: {}: found {}; allowed: {}", path_, line, full, found, allowed)};
    }

    [[nodiscard]] const toml::node *find(const char *key)
    {
        known_.insert(key);
        return table_.get(key);
    }

    [[nodiscard]] std::string text(const char *key, const char *allowed)
    {
        const toml::node *node = find(key);

        if (node == nullptr)
            fail(key, "nothing", allowed);
        const auto *value = node->as_string();
        if (value == nullptr || value->get().empty())
            fail(key, shown(*node), allowed);
        return value->get();
    }

    [[nodiscard]] bool flag(const char *key, bool otherwise)
    {
        const toml::node *node = find(key);

        if (node == nullptr)
            return otherwise;
        const auto *value = node->as_boolean();
        if (value == nullptr)
            fail(key, shown(*node), "true or false");
        return value->get();
    }

    // The value that belongs to the word found; the first when the key is missing.
    template <class value_type, std::size_t count>
    [[nodiscard]] value_type word(const char *key, const std::array<std::pair<const char *, value_type>, count> &words)
    {
        const toml::node *node = find(key);

        if (node == nullptr)
            return words[0].second;
        const auto *value = node->as_string();
        std::vector<std::string> allowed;
        for (const auto &[name, meaning] : words) {
            if (value != nullptr && value->get() == name)
                return meaning;
            allowed.push_back(fmt::format("\"{}\"", name));
        }
        fail(key, shown(*node), fmt::format("{}", fmt::join(allowed, " or ")));
    }

    [[nodiscard]] std::vector<table_reader> tables(const char *key)
    {
        std::vector<table_reader> readers;
        const toml::node *node = find(key);

        if (node == nullptr)
            return readers;
        const toml::array *array = node->as_array();
        if (array == nullptr || !array->is_homogeneous(toml::node_type::table))
            fail(key, shown(*node), fmt::format("tables, each headed [[{}]]", key));
        for (const toml::node &element : *array)
            readers.emplace_back(path_, *element.as_table(), key);
        return readers;
    }

    // After the last key was asked for.
    void refuse_others() const
    {
        for (const auto &[key, node] : table_) {
            if (!known_.contains(std::string(key.str())))
                fail(key.str(), "an unknown key", fmt::format("{}", fmt::join(known_, ", ")));
        }
    }

private:
    const std::string &path_;
    const toml::table &table_;
    std::string name_;
    std::set<std::string> known_;
};

bool has_device(const switch_config &config, const std::string &device)
{
    return std::ranges::find(config.ports, device, &port_config::device) != config.ports.end();
}

bool has_route(const switch_config &config, std::uint16_t usid)
{
    return std::ranges::find(config.routes, usid, &route_config::usid) != config.routes.end();
}

port_config read_port(table_reader &reader, const switch_config &config)
{
    constexpr const char *allowed = "the name of a network device, up to 15 characters, once per file";
    port_config port{.device = reader.text("device", allowed), .host_facing = reader.flag("host_facing", false)};

    if (port.device.size() >= MRC_SW_DEVICE_BYTES || has_device(config, port.device))
        reader.fail("device", fmt::format("\"{}\"", port.device), allowed);
    reader.refuse_others();
    return port;
}

usid_prefix read_usid(table_reader &reader)
{
    const std::string text = reader.text("usid", usid_allowed);
    const auto prefix = parse_usid(text);

    if (!prefix)
        reader.fail("usid", fmt::format("\"{}\"", text), usid_allowed);
    return *prefix;
}

std::size_t read_route_port(table_reader &reader, const switch_config &config)
{
    std::vector<std::string> devices;

    devices.reserve(config.ports.size());
    for (const port_config &port : config.ports)
        devices.push_back(port.device);
    const std::string allowed = fmt::format("a [[port]]'s device: {}", fmt::join(devices, ", "));
    const std::string device = reader.text("port", allowed.c_str());
    const auto found = std::ranges::find(devices, device);
    if (found == devices.end())
        reader.fail("port", fmt::format("\"{}\"", device), allowed);
    return static_cast<std::size_t>(found - devices.begin());
}

route_config read_route(table_reader &reader, const switch_config &config)
{
    const usid_prefix prefix = read_usid(reader);
    const std::size_t port = read_route_port(reader, config);
    const std::string mac_text = reader.text("mac", mac_allowed);
    const auto mac = parse_mac(mac_text);

    if (prefix.block != config.block)
        reader.fail("usid", "another uSID block than the switch's own", "uSIDs of one block");
    if (prefix.usid == config.usid || has_route(config, prefix.usid))
        reader.fail("usid", fmt::format("uSID {:04x} a second time", prefix.usid),
                    "one route a uSID, none for the own");
    if (!mac)
        reader.fail("mac", fmt::format("\"{}\"", mac_text), mac_allowed);
    reader.refuse_others();
    return {.usid = prefix.usid, .port = port, .mac = *mac};
}

void read_lists(table_reader &reader, switch_config &config)
{
    auto ports = reader.tables("port");
    auto routes = reader.tables("route");

    if (ports.empty() || ports.size() > MRC_SW_MAX_PORTS)
        reader.fail("port", fmt::format("{} ports", ports.size()), fmt::format("1 to {}", MRC_SW_MAX_PORTS));
    if (routes.size() > MRC_SW_MAX_ROUTES)
        reader.fail("route", fmt::format("{} routes", routes.size()), fmt::format("up to {}", MRC_SW_MAX_ROUTES));
    for (table_reader &port : ports)
        config.ports.push_back(read_port(port, config));
    for (table_reader &route : routes)
        config.routes.push_back(read_route(route, config));
}

} // namespace

switch_config parse_config(const std::string &text, const std::string &path)
{
    static constexpr std::array forwards{std::pair{"xdp", forwarding::xdp}, std::pair{"kernel", forwarding::kernel}};
    static constexpr std::array modes{std::pair{"native", xdp_mode::native}, std::pair{"generic", xdp_mode::generic}};
    constexpr const char *name_allowed = "the switch's name, up to 31 characters";
    constexpr const char *pin_allowed = "an absolute path on a BPF file system, such as \"/sys/fs/bpf/mrc/lab/p0t0-0\"";

    try {
        const toml::table table = toml::parse(text, path);
        table_reader reader{path, table, ""};
        switch_config config;
        config.name = reader.text("name", name_allowed);
        if (config.name.size() >= MRC_SW_NAME_BYTES)
            reader.fail("name", fmt::format("\"{}\"", config.name), name_allowed);
        const usid_prefix own = read_usid(reader);
        config.block = own.block;
        config.usid = own.usid;
        config.forward = reader.word("forward", forwards);
        config.mode = reader.word("mode", modes);
        config.pin = reader.text("pin", pin_allowed);
        if (config.pin.front() != '/')
            reader.fail("pin", fmt::format("\"{}\"", config.pin), pin_allowed);
        read_lists(reader, config);
        reader.refuse_others();
        return config;
    } catch (const toml::parse_error &error) {
        throw config_error{
            fmt::format("{}:{}: {}; allowed: TOML", path, error.source().begin.line, error.description())};
    }
}

switch_config read_config(const std::string &path)
{
    std::ifstream file{path};
    std::ostringstream text;

    if (!file)
        throw config_error{fmt::format("{}: {}", path, std::strerror(errno))};
    text << file.rdbuf();
    return parse_config(text.str(), path);
}

} // namespace mrc::lab_switch
