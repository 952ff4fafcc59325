// SPDX-License-Identifier: Apache-2.0
// Any packets from two sessions into the controller. The input is a row of records: a byte that says how, a length (16
// bits, low byte first) and that many bytes.
//   how bit 0: which session; bit 1: the bytes are the packet as it is; otherwise they are the values of a request
//   whose version, kind, count and length are made right (nearly every mutation would end at those checks)
//
// Holds for every input: nothing outside the packet is read (AddressSanitizer); a reply is as long as its count says;
// no profile has fewer EVs than it keeps active, no more EVs are in use than there are; ONLINE profiles have a universe
// that a path group takes, and no queue pair loses its profile.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "service/control/controller.h"

namespace
{

using namespace mrc::session;
using namespace mrc::service;
using namespace mrc::service::control;

const fabric_shape fabric{.planes = 2, .uplinks = 4, .usids = usid_plan{}};
constexpr profile_limits limits{.formats = 4,
                                .ev_profiles = 4,
                                .cc_profiles = 4,
                                .evs = 64,
                                .evs_per_profile = 32,
                                .modify_ev_online = true,
                                .modify_cc_online = true};

void require(bool condition, const char *what)
{
    if (condition)
        return;
    std::fputs("control_fuzz: ", stderr);
    std::fputs(what, stderr);
    std::fputs("\n", stderr);
    std::abort();
}

struct quiet_host final : control_host {
    outcome<bool> port_enabled(unsigned port) override
    {
        require(port >= 1 && port <= fabric.planes, "a port outside the fabric");
        return true;
    }
    outcome<> enable_port(unsigned port, bool) override
    {
        require(port >= 1 && port <= fabric.planes, "a port outside the fabric");
        return {};
    }
    void set_denied(std::uint64_t, std::span<const path_verdict> verdicts) override
    {
        for (const path_verdict &verdict : verdicts)
            require(verdict.where.plane < fabric.planes && verdict.where.uplink < fabric.uplinks,
                    "a path outside the fabric");
    }
    void universe_changed(std::uint64_t) override {}
    void gone_offline(std::uint64_t) override {}
    void events_ready(std::uint64_t, std::uint64_t) override {}
    outcome<> start_batch(ep_batch batch) override
    {
        require(!batch.requests.empty() && batch.requests.size() <= most_batch_requests, "a batch outside its bounds");
        return {};
    }
};

std::size_t element_size(const control_request &request)
{
    const bool fields = (request.mask & ev_profile_has_fields) != 0;
    switch (request.kind) {
    case control_kind::modify_ev_format:
        return 1;
    case control_kind::modify_ev_profile:
    case control_kind::query_ev_profile:
        return fields ? sizeof(mrc_ev_field) : sizeof(ev_entry);
    case control_kind::ep_batch:
        return sizeof(ep_request);
    default:
        return 0;
    }
}

std::vector<std::byte> make_right(std::span<const std::uint8_t> values)
{
    control_request request;
    const std::size_t head = std::min(values.size(), sizeof(request));
    std::memcpy(static_cast<void *>(&request), values.data(), head);
    request.version = control_version;
    constexpr unsigned kinds = 14;
    request.kind = static_cast<control_kind>(0x100 + static_cast<unsigned>(request.kind) % kinds);
    request.id %= 5;
    const std::size_t element = element_size(request);
    const std::span<const std::uint8_t> rest = values.subspan(head);
    request.count = element == 0 ? 0 : static_cast<std::uint32_t>(rest.size() / element);
    std::vector<std::byte> packet(sizeof(request) + request.count * element);
    std::memcpy(packet.data(), &request, sizeof(request));
    if (packet.size() > sizeof(request))
        std::memcpy(packet.data() + sizeof(request), rest.data(), request.count * element);
    return packet;
}

void check_reply(const std::vector<std::byte> &bytes)
{
    control_reply reply;
    require(bytes.size() >= sizeof(reply) && bytes.size() <= most_control_bytes, "a reply of wrong size");
    std::memcpy(static_cast<void *>(&reply), bytes.data(), sizeof(reply));
    const std::size_t array = bytes.size() - sizeof(reply);
    require(reply.count == 0 ? array == 0 : array % reply.count == 0, "a reply's array and count differ");
    require(std::memchr(reply.text, 0, sizeof(reply.text)) != nullptr, "a text without end");
    require((reply.error == 0) == (reply.text[0] == 0), "an error without a text");
}

void check_stores(controller &control)
{
    require(control.ev_profiles().evs_in_use() <= limits.evs, "more EVs in use than there are");
    for (const auto &[id, profile] : control.ev_profiles().all()) {
        require(profile.state != profile_state::init, "a profile in INIT is kept");
        require(profile.min_active.value_or(0) <= profile.evs.size(), "fewer EVs than are kept active");
        if (profile.state != profile_state::online)
            continue;
        const auto universe = control.ev_profiles().universe(id, fabric.uplinks, 1);
        require(universe.empty() || universe.size() == profile.evs.size(), "a universe without some EVs");
        for (const auto &entry : universe)
            require(entry.entropy.value != 0 && entry.slot < fabric.planes * fabric.uplinks, "no EV of the fabric");
    }
    for (const auto &[id, profile] : control.cc_profiles().all())
        require(profile.state != profile_state::online || !profile.nscc || profile.config.has_value() || id == 0,
                "an ONLINE profile without constants");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    quiet_host host;
    controller control{limits, fabric, {}, host};
    std::span<const std::uint8_t> rest{data, size};
    while (rest.size() >= 3) {
        const std::uint8_t how = rest[0];
        const std::size_t length = std::min(std::size_t{rest[1]} + std::size_t{rest[2]} * 256, rest.size() - 3);
        const auto values = rest.subspan(3, length);
        rest = rest.subspan(3 + length);
        std::vector<std::byte> packet(values.size());
        if ((how & 2U) == 0)
            packet = make_right(values);
        else if (!values.empty())
            std::memcpy(packet.data(), values.data(), values.size());
        if (const auto reply = control.handle(how & 1U, packet))
            check_reply(*reply);
        check_stores(control);
        control.ev_profiles().observe(how % 5U, how & 1U, {how >> 3U & 1U, how >> 4U & 3U},
                                      static_cast<mrc::protocol::path_state>(how % 3U));
    }
    control.end_session(0);
    control.end_session(1);
    return 0;
}
