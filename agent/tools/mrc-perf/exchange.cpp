// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/exchange.h"

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "tools/mrc-perf/address.h"
#include "tools/mrc-perf/channel.h"
#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

constexpr std::uint32_t qpn_mask = 0xFFFFFF; // and that of PSNs

template <typename T>
T small_member(const boost::json::object &object, const char *name, T low, T high)
{
    return static_cast<T>(member(object, name, low, high));
}

std::vector<std::uint64_t> sizes_from(const boost::json::object &object)
{
    const auto *list = object.if_contains("sizes");
    if (list == nullptr || !list->is_array())
        throw perf_error{"the far end's message lacks 'sizes'", "far_end"};
    std::vector<std::uint64_t> sizes;
    for (const auto &entry : list->get_array()) {
        boost::json::error_code error;
        sizes.push_back(entry.to_number<std::uint64_t>(error));
        if (error || sizes.back() == 0 || sizes.back() > largest_message)
            throw perf_error{"the far end's message lacks good 'sizes'", "far_end"};
    }
    return sizes;
}

} // namespace

boost::json::object to_json(const test_plan &plan)
{
    return {{"mode", static_cast<std::uint64_t>(plan.mode)},
            {"size", plan.size},
            {"qps", plan.qps},
            {"window", plan.window},
            {"messages", plan.messages},
            {"seconds", plan.seconds},
            {"file_bytes", plan.file_bytes},
            {"interval_ms", plan.interval_ms},
            {"bidir", plan.bidir},
            {"verify", plan.verify},
            {"events", plan.events},
            {"rate", plan.rate},
            {"timeout", plan.timeout},
            {"linear", plan.linear},
            {"exponential", plan.exponential},
            {"sizes", boost::json::array(plan.sizes.begin(), plan.sizes.end())},
            {"memory", static_cast<std::uint64_t>(plan.memory)}};
}

test_plan plan_from(const boost::json::object &object)
{
    test_plan plan;
    plan.mode = static_cast<test_mode>(member(object, "mode", 0, static_cast<std::uint64_t>(test_mode::file)));
    plan.size = member(object, "size", 1, largest_message);
    plan.qps = small_member(object, "qps", 1U, most_qps);
    plan.sizes = sizes_from(object);
    plan.window = small_member(object, "window", plan.sizes.empty() ? 1U : 0U, largest_window);
    plan.messages = member(object, "messages");
    plan.seconds = small_member(object, "seconds", 0U, UINT32_MAX);
    plan.file_bytes = member(object, "file_bytes");
    plan.interval_ms = small_member(object, "interval_ms", 0U, UINT32_MAX);
    plan.bidir = flag_member(object, "bidir");
    plan.verify = flag_member(object, "verify");
    plan.events = flag_member(object, "events");
    plan.rate = small_member(object, "rate", 0U, highest_rate);
    plan.timeout = small_member(object, "timeout", 0U, 24U);
    plan.linear = small_member(object, "linear", 0U, 7U);
    plan.exponential = small_member(object, "exponential", 0U, 25U);
    plan.memory =
        static_cast<memory_kind>(member(object, "memory", 0, static_cast<std::uint64_t>(memory_kind::process)));
    for (const test_plan &run : plan.runs())
        if (run.memory_bytes() > largest_memory)
            throw perf_error{fmt::format("the client asks for {} bytes of registered memory; allowed: {}",
                                         run.memory_bytes(), largest_memory),
                             "far_end"};
    return plan;
}

boost::json::object to_json(const side &end)
{
    boost::json::array qps;
    for (const qp_identity &qp : end.qps)
        qps.push_back(boost::json::object{{"qpn", qp.qpn}, {"psn", qp.first_psn}});
    return {{"address", to_text(end.gid)},
            {"payload_bytes", end.payload_bytes},
            {"va", end.remote_va},
            {"rkey", end.rkey},
            {"qp", std::move(qps)}};
}

side side_from(const boost::json::object &object, std::uint32_t qps)
{
    side end;
    const auto gid = parse_gid(text_member(object, "address"));
    if (!gid)
        throw perf_error{"the far end's MRC address is none", "far_end"};
    end.gid = *gid;
    end.payload_bytes = small_member(object, "payload_bytes", 0U, 65536U);
    end.remote_va = member(object, "va");
    end.rkey = small_member(object, "rkey", 0U, UINT32_MAX);
    const auto *list = object.if_contains("qp");
    if (list == nullptr || !list->is_array() || list->get_array().size() != qps)
        throw perf_error{fmt::format("the far end does not name {} queue pairs", qps), "far_end"};
    for (const auto &entry : list->get_array()) {
        if (!entry.is_object())
            throw perf_error{"the far end names a queue pair without its number", "far_end"};
        end.qps.push_back({.qpn = small_member<std::uint32_t>(entry.get_object(), "qpn", 0U, qpn_mask),
                           .first_psn = small_member<std::uint32_t>(entry.get_object(), "psn", 0U, qpn_mask)});
    }
    return end;
}

} // namespace mrc::perf
