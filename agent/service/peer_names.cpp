// SPDX-License-Identifier: Apache-2.0
#include "service/peer_names.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "kernel/whole_file.h"
#include "options/read.h"

namespace mrc::service
{

namespace
{

mrc_ip address_of(const host_entry &host)
{
    if (host.common)
        return *host.common;
    for (const std::optional<mrc_ip> &each : host.addresses)
        if (each)
            return *each;
    return {};
}

// Whoever writes the file does not write to the terminal on which the log is read.
std::string for_log(std::string name)
{
    name.resize(std::min(name.size(), session::most_name_bytes));
    std::ranges::replace_if(name, [](char each) { return each < ' ' || each > '~'; }, '?');
    return name;
}

class name_list
{
public:
    explicit name_list(const fabric_rules &rules) : rules_{rules} {}

    void add(const mrc_ip &address, const std::string &name, const char *known_by)
    {
        if (const auto place = rules_.host_of(address))
            by_place_.emplace(*place, name);
        found_.hosts.push_back({.address = to_text(address), .name = name, .known_by = known_by});
    }

    void add_of_file(const std::string &where, const mrc_ip &address, const std::string &name)
    {
        const auto place = rules_.host_of(address);
        if (!place || *place == rules_.self())
            return;
        if (const std::string reason = refusal_of(*place, name); !reason.empty())
            found_.refused.push_back(
                fmt::format("{}: {} is not named '{}': {}", where, to_text(address), for_log(name), reason));
        else if (!by_place_.contains(*place))
            add(address, name, "file");
    }

    peer_names take() { return std::move(found_); }

private:
    // Empty: it may have the name, or has it already.
    [[nodiscard]] std::string refusal_of(const host_place &place, const std::string &name) const
    {
        if (!session::is_host_name(name))
            return "it is no host name";
        if (const auto known = by_place_.find(place); known != by_place_.end())
            return session::is_same_name(known->second, name) ? "" : fmt::format("it is '{}'", known->second);
        const auto taken =
            std::ranges::find_if(by_place_, [&](const auto &each) { return session::is_same_name(each.second, name); });
        return taken == by_place_.end() ? "" : fmt::format("{} is", to_text(rules_.address_of(taken->first)));
    }

    const fabric_rules &rules_;
    std::map<host_place, std::string> by_place_;
    peer_names found_;
};

} // namespace

peer_names names_of_peers(const daemon_config &config, const fabric_rules &rules, std::string_view file_text)
{
    name_list names{rules};
    for (const host_entry &host : config.hosts)
        if (host.name)
            names.add(address_of(host), *host.name, "configuration");
    std::istringstream lines{std::string{file_text}};
    unsigned number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words{line.substr(0, line.find('#'))};
        std::string address;
        std::string name;
        if (!(words >> address >> name))
            continue;
        if (const auto parsed = parse_ip(address))
            names.add_of_file(fmt::format("{}:{}", config.fabric.hosts_file.value_or(""), number), *parsed, name);
    }
    return names.take();
}

std::vector<std::string> published_names::publish(const daemon_config &config, const fabric_rules &rules)
{
    std::string text;
    std::vector<std::string> complaints;
    if (const auto &file = config.fabric.hosts_file) {
        if (auto read = options::read_file(*file))
            text = *std::move(read);
        else
            complaints.push_back("fabric.hosts_file: " + read.error().text());
    }
    peer_names names = names_of_peers(config, rules, text);
    std::ranges::move(names.refused, std::back_inserter(complaints));
    path_ = session::names_file_of(config.daemon.socket);
    std::error_code ignored;
    if (names.hosts.empty()) // nor those that a daemon which was killed has left
        std::filesystem::remove(path_, ignored);
    else if (const auto written = kernel::replace_file(path_, path_ + ".new", session::to_hosts_text(names.hosts));
             !written)
        complaints.push_back(fmt::format("cannot write {}: {}", path_, written.error().message()));
    return complaints;
}

published_names::~published_names()
{
    std::error_code ignored;
    if (!path_.empty())
        std::filesystem::remove(path_, ignored);
}

} // namespace mrc::service
