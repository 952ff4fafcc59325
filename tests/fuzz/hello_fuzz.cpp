// SPDX-License-Identifier: Apache-2.0
// Any datagrams to `mrcctl setup`, from anybody on its links. The input is a row of records: the port by which it comes
// in, a length (16 bits, low byte first) and that many bytes.
//   port bit 7: the bytes are the datagram as it is; otherwise magic, version, and the counts that decide its length
//   are made right (nearly every mutation would end at those checks)
//
// Holds for every input: nothing outside the datagram is read (AddressSanitizer); an accepted hello encodes to the
// bytes that it came as; what this host says of itself stays; no more hosts than the most are remembered; a plane has
// a port once, and the own host's are its ports; the configuration has one line for each peer, in ASCII, and each name
// once.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tools/setup/config_text.h"
#include "tools/setup/hello.h"
#include "tools/setup/names.h"
#include "tools/setup/plan.h"

namespace
{

using namespace mrc::setup;

constexpr std::uint8_t own_ports = 3;
constexpr std::uint64_t own_host = 7;
const std::vector<std::string> devices{"eth0", "eth1", "eth2"};

void require(bool condition, const char *what)
{
    if (condition)
        return;
    std::fputs("hello_fuzz: ", stderr);
    std::fputs(what, stderr);
    std::fputs("\n", stderr);
    std::abort();
}

// "MRCH", version 1, a name within the bytes, and links for the rest of them.
void make_right(std::vector<std::byte> &datagram)
{
    constexpr std::size_t head = 34;
    constexpr std::size_t link = 10;
    if (datagram.size() < head)
        datagram.resize(head);
    std::memcpy(datagram.data(), "MRCH\x01", 5);
    const std::size_t rest = datagram.size() - head;
    const std::size_t name = std::to_integer<std::size_t>(datagram[7]) % (std::min<std::size_t>(rest, 63) + 1);
    const std::size_t links = std::min((rest - name) / link, most_links);
    datagram.resize(head + name + links * link);
    datagram[7] = static_cast<std::byte>(name);
    datagram[32] = std::byte{0};
    datagram[33] = static_cast<std::byte>(links);
}

void check_plan(const heard_so_far &heard)
{
    const plan made = make_plan(heard);
    for (const plane_ports &plane : made.planes) {
        require(std::ranges::is_sorted(plane), "a plane's ports are not ascending");
        require(std::ranges::adjacent_find(plane) == plane.end(), "a plane has a port twice");
        for (const port_id &port : plane)
            require(port.host != own_host || port.port < own_ports, "a port that this host has not");
    }
    (void)is_agreed(heard, made);
    for (const std::string &line : remarks_on(heard, made, devices))
        require(line.find('\n') == std::string::npos, "a remark of several lines");
    if (!refusal_of(heard, made).empty())
        return;
    const chosen_names names = choose_names(heard, made, "");
    std::set<std::string> different;
    for (const auto &[host, name] : names.of)
        require(name != "here" && different.insert(name).second, "two hosts have one name");
    const std::string text = config_text(heard, made, devices, "default", names);
    constexpr std::size_t own_lines = 8 + own_ports;
    require(static_cast<std::size_t>(std::ranges::count(text, '\n')) <= own_lines + made.peers_of(own_host).size(),
            "a stranger adds lines to the configuration");
    require(std::ranges::all_of(text, [](char each) { return each == '\n' || (each >= ' ' && each <= '~'); }),
            "a stranger's bytes are in the configuration");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    heard_so_far heard;
    heard.own = {.host = own_host, .run = 1, .plan = 0, .port = 0, .ports = own_ports, .name = "here", .heard = {}};
    std::span<const std::uint8_t> rest{data, size};
    while (rest.size() >= 3) {
        const std::uint8_t how = rest[0];
        const std::size_t length = std::min(std::size_t{rest[1]} + std::size_t{rest[2]} * 256, rest.size() - 3);
        std::vector<std::byte> datagram(length);
        if (length != 0)
            std::memcpy(datagram.data(), rest.data() + 3, length);
        rest = rest.subspan(3 + length);
        if ((how & 0x80U) == 0)
            make_right(datagram);
        const auto came = decode_hello(datagram);
        if (!came)
            continue;
        require(encode_hello(*came) == datagram, "a hello that encodes to other bytes");
        (void)take_hello(heard, *came, how % own_ports);
        require(heard.hosts.size() <= most_hosts && heard.runs.size() <= most_hosts + 1, "more hosts than the most");
        require(heard.own.heard.size() <= most_links, "more links than fit a hello");
        require(heard.own.host == own_host && heard.own.run == 1 && heard.own.name == "here", "the own host changes");
    }
    check_plan(heard);
    return 0;
}
