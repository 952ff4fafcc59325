// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc_perf_exchange.h"

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "mrc/wire.h"
#include "service/address.h"
#include "tools/mrc_perf_channel.h"
#include "tools/mrc_perf_error.h"

namespace mrc::perf
{

namespace
{

template <typename T>
T small_member(const boost::json::object &object, const char *name, T low, T high)
{
    return static_cast<T>(member(object, name, low, high));
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
            {"timeout", plan.timeout},
            {"linear", plan.linear},
            {"exponential", plan.exponential}};
}

test_plan plan_from(const boost::json::object &object)
{
    test_plan plan;
    plan.mode = static_cast<test_mode>(member(object, "mode", 0, static_cast<std::uint64_t>(test_mode::file)));
    plan.size = member(object, "size", 1, largest_message);
    plan.qps = small_member(object, "qps", 1U, most_qps);
    plan.window = small_member(object, "window", 1U, largest_window);
    plan.messages = member(object, "messages");
    plan.seconds = small_member(object, "seconds", 0U, UINT32_MAX);
    plan.file_bytes = member(object, "file_bytes");
    plan.interval_ms = small_member(object, "interval_ms", 0U, UINT32_MAX);
    plan.bidir = flag_member(object, "bidir");
    plan.verify = flag_member(object, "verify");
    plan.timeout = small_member(object, "timeout", 0U, 24U);
    plan.linear = small_member(object, "linear", 0U, 7U);
    plan.exponential = small_member(object, "exponential", 0U, 25U);
    if (plan.memory_bytes() > largest_memory)
        throw perf_error{fmt::format("the client asks for {} bytes of registered memory; allowed: {}",
                                     plan.memory_bytes(), largest_memory),
                         "far_end"};
    return plan;
}

boost::json::object to_json(const side &end)
{
    boost::json::array qps;
    for (const qp_identity &qp : end.qps)
        qps.push_back(boost::json::object{{"qpn", qp.qpn}, {"psn", qp.first_psn}});
    return {{"address", service::to_text(end.address)},
            {"payload_bytes", end.payload_bytes},
            {"planes", end.planes},
            {"va", end.remote_va},
            {"rkey", end.rkey},
            {"qp", std::move(qps)}};
}

side side_from(const boost::json::object &object, std::uint32_t qps)
{
    side end;
    const auto address = service::parse_ip(text_member(object, "address"));
    if (!address)
        throw perf_error{"the far end's MRC address is none", "far_end"};
    end.address = *address;
    end.payload_bytes = small_member(object, "payload_bytes", 1U, 65536U);
    end.planes = small_member<std::uint32_t>(object, "planes", 1U, MRC_MAX_PORTS);
    end.remote_va = member(object, "va");
    end.rkey = small_member(object, "rkey", 0U, UINT32_MAX);
    const auto *list = object.if_contains("qp");
    if (list == nullptr || !list->is_array() || list->get_array().size() != qps)
        throw perf_error{fmt::format("the far end does not name {} queue pairs", qps), "far_end"};
    for (const auto &entry : list->get_array()) {
        if (!entry.is_object())
            throw perf_error{"the far end names a queue pair without its number", "far_end"};
        end.qps.push_back({.qpn = small_member<std::uint32_t>(entry.get_object(), "qpn", 0U, MRC_PSN_MASK),
                           .first_psn = small_member<std::uint32_t>(entry.get_object(), "psn", 0U, MRC_PSN_MASK)});
    }
    return end;
}

} // namespace mrc::perf
