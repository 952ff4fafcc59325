// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/names.h"

#include <algorithm>

#include <fmt/format.h>

#include "service/config/config.h"
#include "tools/setup/identity.h"

namespace mrc::setup
{

namespace
{

using names_by_address = std::map<std::string, std::string>;

names_by_address names_in(std::string_view text)
{
    names_by_address names;
    if (const auto config = service::parse_config(text, "the file that is replaced"))
        for (const service::host_entry &host : config->hosts)
            if (host.common && host.name)
                names.emplace(service::to_text(*host.common), *host.name);
    return names;
}

// Empty: the host may have the name that it says.
std::string refusal_of(const heard_so_far &heard, const std::vector<std::uint64_t> &peers, std::uint64_t host,
                       const names_by_address &known)
{
    const std::string &name = heard.hosts.at(host).name;
    const std::string own = service::to_text(common_address(host));
    for (const auto &[address, taken] : known)
        if (address != own && session::is_same_name(taken, name))
            return fmt::format("{} had it before", address);
    if (session::is_same_name(heard.own.name, name))
        return "it is this host's";
    const auto says_so = [&](std::uint64_t each) { return session::is_same_name(heard.hosts.at(each).name, name); };
    return std::ranges::count_if(peers, says_so) > 1 ? "several hosts say it" : "";
}

} // namespace

chosen_names choose_names(const heard_so_far &heard, const plan &made, std::string_view known)
{
    const names_by_address before = names_in(known);
    const std::vector<std::uint64_t> peers = made.peers_of(heard.own.host);
    chosen_names chosen;
    for (const std::uint64_t host : peers) {
        const std::string &said = heard.hosts.at(host).name;
        const std::string address = service::to_text(common_address(host));
        if (const auto kept = before.find(address); kept != before.end()) {
            chosen.of.emplace(host, kept->second);
            if (!session::is_same_name(kept->second, said))
                chosen.remarks.push_back(fmt::format("{} says that it is {}: it stays {}, change name in the file",
                                                     address, said, kept->second));
        } else if (const std::string reason = refusal_of(heard, peers, host, before); !reason.empty()) {
            chosen.remarks.push_back(
                fmt::format("{} is not named {}: {}; give it a name in the file", address, said, reason));
        } else {
            chosen.of.emplace(host, said);
        }
    }
    return chosen;
}

} // namespace mrc::setup
