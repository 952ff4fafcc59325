// SPDX-License-Identifier: Apache-2.0
// Any hosts file: that of fabric.hosts_file, which mrcd reads; the daemon's own, which programs read; and one into
// which `mrcctl hosts --write` puts its block. The input's first byte is the fabric (bit 0: SRv6, else direct), the
// rest is the text.
//
// Holds for every input: no line makes a name that is none, gives a peer two names or a name two peers, renames one
// that the configuration names, or names this host or one that is no peer; what is refused is one line of text each;
// what is published is read as it was written; what reads it takes addresses and names only; a block leaves the rest of
// a file alone to the byte.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "service/fabric_rules.h"
#include "service/peer_names.h"
#include "tools/hosts/block.h"

namespace
{

using namespace mrc;

const char *const direct_config = "fabric.mode = \"direct\"\nfabric.hosts_file = \"/h\"\n"
                                  "port = [{device = \"p0\", plane = 0, address = \"fd00::1\"}]\npeer = [\n"
                                  "{name = \"b\", address = \"fd01::2\", addresses = [\"fd00::2\"]},\n"
                                  "{address = \"fd01::3\", addresses = [\"fd00::3\"]},\n"
                                  "{addresses = [\"fd00::4\"]},\n{name = \"own\", addresses = [\"fd00::1\"]}]\n";
const char *const srv6_config = "fabric.planes = 1\nfabric.leaves = 2\nfabric.uplinks = 1\nfabric.hosts_file = \"/h\"\n"
                                "host.leaf = 0\nhost.downlink = 0\nport = [{device = \"p0\", plane = 0}]\n";

void require(bool condition, const char *what)
{
    if (condition)
        return;
    std::fputs("names_fuzz: ", stderr);
    std::fputs(what, stderr);
    std::fputs("\n", stderr);
    std::abort();
}

service::daemon_config config_of(const char *text)
{
    auto config = service::parse_config(text, "mrcd.toml");
    require(config.has_value(), config ? "" : config.error().text().c_str());
    for (service::port_options &port : config->ports)
        port.own_address = port.address;
    return *std::move(config);
}

struct fabric {
    service::daemon_config config;
    std::unique_ptr<const service::fabric_rules> rules{service::make_fabric_rules(config)};
};

bool is_printable(std::string_view text)
{
    return std::ranges::all_of(text, [](char each) { return each >= ' ' && each <= '~'; });
}

std::string lower(std::string_view text)
{
    std::string result{text};
    for (char &each : result)
        if (each >= 'A' && each <= 'Z')
            each = static_cast<char>(each - 'A' + 'a');
    return result;
}

void check_names(const fabric &of, const service::peer_names &found)
{
    std::map<std::string, service::host_place> by_name;
    std::map<service::host_place, std::string> by_host;
    for (const session::named_host &host : found.hosts) {
        require(session::is_host_name(host.name), "a name that is none");
        const auto address = service::parse_ip(host.address);
        const auto place = address ? of.rules->host_of(*address) : std::nullopt;
        require(place.has_value(), "a name of no peer");
        require(host.known_by == "configuration" || *place != of.rules->self(), "a file names this host");
        require(by_name.emplace(lower(host.name), *place).second, "two peers have one name");
        require(by_host.emplace(*place, host.name).second, "a peer has two names");
    }
    std::size_t configured = 0;
    for (const service::host_entry &host : of.config.hosts)
        if (host.name) {
            require(found.hosts.size() > configured && found.hosts[configured].name == *host.name,
                    "a file takes a name of the configuration");
            ++configured;
        }
    for (const std::string &line : found.refused)
        require(is_printable(line), "a refusal brings bytes of the file to the log");
    require(session::parse_hosts_text(session::to_hosts_text(found.hosts)) == found.hosts,
            "what is published is read otherwise");
}

void check_reader(const std::string &text)
{
    const auto read = session::parse_hosts_text(text);
    for (const session::named_host &host : read) {
        require(session::is_host_name(host.name), "a name that is none is read");
        require(service::parse_ip(host.address).has_value(), "what is no address is read");
    }
    require(session::parse_hosts_text(session::to_hosts_text(read)) == read, "read again it is other hosts");
}

void check_block(const std::string &text)
{
    const std::array hosts{session::named_host{.address = "fd01::2", .name = "b", .known_by = "configuration"}};
    const auto with = tools::with_block(text, false, "f", hosts);
    if (!with)
        return; // a block without an end
    const auto without = tools::without_block(with->text, "f");
    require(without.has_value(), "a block that was written is not found");
    const auto before = tools::without_block(text, "f");
    require(without->text == (before ? before->text : text), "a block changes what stands around it");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static const fabric direct{.config = config_of(direct_config)};
    static const fabric srv6{.config = config_of(srv6_config)};
    if (size == 0)
        return 0;
    const fabric &of = (data[0] & 1U) != 0 ? srv6 : direct;
    const std::string text(data + 1, data + size);
    check_names(of, service::names_of_peers(of.config, *of.rules, text));
    check_reader(text);
    check_block(text);
    return 0;
}
