// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/probe.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <thread>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "service/address.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/ev_profiles.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr unsigned nanoseconds_in_ms = 1'000'000;
constexpr int gid_table_length = 16;

ibv_gid gid_of(const mrc_ip &address)
{
    ibv_gid gid{};
    static_assert(sizeof(gid) == sizeof(address));
    std::memcpy(&gid, &address, sizeof(gid));
    return gid;
}

bool is_link_local(const ibv_gid &gid)
{
    return gid.raw[0] == 0xFE && (gid.raw[1] & 0xC0) == 0x80;
}

bool is_ipv4(const ibv_gid &gid)
{
    static constexpr std::uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    return std::equal(std::begin(prefix), std::end(prefix), std::begin(gid.raw));
}

// The host's own address of the same kind.
ibv_gid source_toward(const controller_device &device, const ibv_gid &destination)
{
    static constexpr ibv_gid none{};
    for (int index = 0; index < gid_table_length; ++index) {
        ibv_gid gid{};
        if (::ibv_query_gid(device.verbs(), 1, index, &gid) == 0 && std::memcmp(&gid, &none, sizeof(gid)) != 0 &&
            !is_link_local(gid) && is_ipv4(gid) == is_ipv4(destination))
            return gid;
    }
    throw ctl_error{
        fmt::format("this host has no {} MRC address to probe from", is_ipv4(destination) ? "IPv4" : "IPv6")};
}

// An automatic profile's EVs name a path and leave the entropy to the daemon, also here.
std::vector<mrc_ctl_ev> evs_of_all_paths(const controller_device &device)
{
    std::vector<mrc_ctl_ev> evs;
    for (const mrc_ctl_ev_op_entry &entry : evs_of(device, 0))
        evs.push_back(entry.ev);
    return evs;
}

double share_lost(std::uint64_t sent, std::uint64_t answered)
{
    return sent == 0 ? 0 : static_cast<double>(sent - answered) / static_cast<double>(sent);
}

struct probed_ev {
    mrc_ctl_ev ev{};
    std::vector<std::optional<unsigned>> rtts_ns; // nothing: not answered
    unsigned came_in_by = 0;                      // port; 0: no answer
    bool adjusted = true;                         // the peer's service time is taken off, every time
};

class prober
{
public:
    prober(const controller_device &device, const probe_options &options) : device_{device}, options_{options}
    {
        const auto address = service::parse_ip(options.destination);
        if (!address)
            throw ctl_error{fmt::format("'{}' is no address; allowed: an MRC address, such as fd6d:7263::1:1",
                                        options.destination)};
        destination_ = gid_of(*address);
        source_ = source_toward(device, destination_);
        for (const mrc_ctl_ev &ev : options.evs.empty() ? evs_of_all_paths(device) : options.evs)
            probed_.push_back({.ev = ev, .rtts_ns = {}});
    }

    void send_batch()
    {
        // Numbers go on from batch to batch: late answers to the last one are no answers to this.
        const auto first_id = next_id_;
        std::vector<mrc_ctl_ep_req> requests;
        for (probed_ev &one : probed_) {
            mrc_ctl_ep_req request{};
            request.req_id = next_id_++;
            request.sgid = source_;
            request.dgid = destination_;
            request.ev_fmt_mode = options_.format;
            request.req_ev = one.ev;
            requests.push_back(request);
            one.rtts_ns.emplace_back();
        }
        std::vector<mrc_ctl_ep_rsp> responses(requests.size());
        int answered = 0;
        if (::mrc_ctl_ep_batch_send_wait(device_.mrc(), static_cast<std::uint8_t>(options_.dscp),
                                         MRC_CTL_EP_OP_EV_PROBE, requests.data(), static_cast<int>(requests.size()),
                                         options_.timeout_ms * nanoseconds_in_ms, responses.data(), &answered) != 0)
            note_failure(answered);
        for (const mrc_ctl_ep_rsp &response : std::span{responses}.first(static_cast<std::size_t>(answered)))
            take(response, static_cast<std::uint16_t>(response.req_id - first_id));
    }

    [[nodiscard]] probes_sent result() const
    {
        probes_sent sent;
        sent.complaint = complaint_;
        for (const probed_ev &one : probed_) {
            sent.rows.push_back(view_of(one));
            sent.whole =
                sent.whole && std::ranges::all_of(one.rtts_ns, [](const auto &rtt) { return rtt.has_value(); });
        }
        return sent;
    }

private:
    // Answers that are missing show. EINVAL beside answers is about single EVs: the others were probed.
    void note_failure(int answered)
    {
        if (errno == EINVAL && answered > 0)
            complaint_ = why_it_failed(errno);
        else if (errno != ETIMEDOUT || (answered == 0 && !daemon_answers()))
            fail_call("probe " + options_.destination);
    }

    // Nothing came back: from the peer, or from a daemon that hangs?
    [[nodiscard]] bool daemon_answers() const
    {
        mrc_ctl_port_attr attributes{};
        return ::mrc_ctl_query_port(device_.mrc(), 1, &attributes, MRC_CTL_PORT_ADMIN_STATE) == 0;
    }

    void take(const mrc_ctl_ep_rsp &response, std::size_t index)
    {
        if (index >= probed_.size())
            return;
        probed_ev &one = probed_[index];
        one.rtts_ns.back() = response.rtt;
        one.came_in_by = response.port;
        one.adjusted = one.adjusted && response.adj_svc_time != 0;
    }

    static json::object view_of(const probed_ev &one)
    {
        std::vector<unsigned> known;
        json::array all;
        for (const auto &rtt : one.rtts_ns) {
            all.push_back(rtt ? json::value(*rtt) : json::value(nullptr));
            if (rtt)
                known.push_back(*rtt);
        }
        const bool any = !known.empty();
        const auto or_null = [any](std::uint64_t value) { return any ? json::value(value) : json::value(nullptr); };
        return {{"ev", json::string{ev_text(one.ev)}},
                {"port", one.ev.port},
                {"sent", one.rtts_ns.size()},
                {"answered", known.size()},
                {"loss", share_lost(one.rtts_ns.size(), known.size())},
                {"rtt_min_ns", or_null(any ? std::ranges::min(known) : 0)},
                {"rtt_mean_ns",
                 or_null(any ? std::accumulate(known.begin(), known.end(), std::uint64_t{0}) / known.size() : 0)},
                {"rtt_max_ns", or_null(any ? std::ranges::max(known) : 0)},
                {"rtts_ns", std::move(all)},
                {"answer_port", or_null(one.came_in_by)},
                {"service_time_removed", any ? json::value(one.adjusted) : json::value(nullptr)}};
    }

    const controller_device &device_;
    const probe_options &options_;
    ibv_gid source_{};
    ibv_gid destination_{};
    std::uint16_t next_id_ = 0;
    std::string complaint_;
    std::vector<probed_ev> probed_;
};

} // namespace

json::array by_plane(const json::array &rows)
{
    struct sums {
        std::uint64_t sent = 0;
        std::vector<std::uint64_t> rtts_ns;
    };
    std::map<std::uint64_t, sums> planes; // by port
    for (const json::value &row : rows) {
        sums &of = planes[row.at("port").to_number<std::uint64_t>()];
        of.sent += row.at("sent").to_number<std::uint64_t>();
        for (const json::value &rtt : row.at("rtts_ns").as_array())
            if (!rtt.is_null())
                of.rtts_ns.push_back(rtt.to_number<std::uint64_t>());
    }
    json::array all;
    for (const auto &[port, of] : planes) {
        const std::size_t answered = of.rtts_ns.size();
        const auto or_null = [answered](std::uint64_t value) {
            return answered == 0 ? json::value(nullptr) : json::value(value);
        };
        const auto sum = std::accumulate(of.rtts_ns.begin(), of.rtts_ns.end(), std::uint64_t{0});
        all.push_back(json::object{{"plane", port - 1},
                                   {"port", port},
                                   {"sent", of.sent},
                                   {"answered", answered},
                                   {"loss", share_lost(of.sent, answered)},
                                   {"rtt_min_ns", or_null(answered == 0 ? 0 : std::ranges::min(of.rtts_ns))},
                                   {"rtt_mean_ns", or_null(answered == 0 ? 0 : sum / answered)},
                                   {"rtt_max_ns", or_null(answered == 0 ? 0 : std::ranges::max(of.rtts_ns))}});
    }
    return all;
}

probes_sent send_probes(const controller_device &device, const probe_options &options)
{
    prober here{device, options};
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned batch = 0; batch < options.count; ++batch) {
        std::this_thread::sleep_until(begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                  std::chrono::duration<double>{batch * options.interval_s}));
        here.send_batch();
    }
    return here.result();
}

} // namespace mrc::ctl
