// SPDX-License-Identifier: Apache-2.0
#include "service/control/controller.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "service/control/controller_answer.h"
#include "service/control/invalid.h"

namespace mrc::service::control
{

namespace
{

struct array_shape {
    std::size_t element = 0; // bytes
    std::uint32_t most = 0;
};

// What may stand behind a request.
array_shape shape_of(const session::control_request &request)
{
    switch (request.kind) {
    case session::control_kind::modify_ev_format:
        return {sizeof(std::uint8_t), session::most_fields};
    case session::control_kind::modify_ev_profile:
    case session::control_kind::query_ev_profile:
        if ((request.mask & session::ev_profile_has_fields) != 0)
            return {sizeof(mrc_ev_field), session::most_fields};
        return {sizeof(session::ev_entry), session::most_entries};
    case session::control_kind::ep_batch:
        return {sizeof(session::ep_request), session::most_ep_requests};
    case session::control_kind::query_device:
    case session::control_kind::query_port:
    case session::control_kind::modify_port:
    case session::control_kind::query_ev_format:
    case session::control_kind::modify_cc_profile:
    case session::control_kind::query_cc_profile:
    case session::control_kind::list_profiles:
    case session::control_kind::subscribe_events:
    case session::control_kind::poll_events:
    case session::control_kind::unsubscribe_events:
        break;
    }
    return {};
}

std::vector<std::byte> encode(const session::control_reply &reply, std::span<const std::byte> array)
{
    std::vector<std::byte> bytes(sizeof(reply) + array.size());
    std::memcpy(bytes.data(), &reply, sizeof(reply));
    if (!array.empty())
        std::memcpy(bytes.data() + sizeof(reply), array.data(), array.size());
    return bytes;
}

} // namespace

controller::controller(const session::profile_limits &limits, const fabric_shape &fabric, cc_profile built_in,
                       control_host &host)
    : limits_{limits}, fabric_{fabric}, host_{host}, formats_{limits_}, evs_{limits_, fabric_, formats_, *this},
      ccs_{limits_, built_in}
{
}

std::vector<std::byte> controller::refused(const session::refusal &why)
{
    return encode(controller_answer{std::unexpected{why}}.reply, {});
}

std::vector<std::byte> controller::ep_reply(const session::outcome<> &result,
                                            std::span<const session::ep_response> responses)
{
    controller_answer reply{result};
    reply.set_array(responses.first(std::min<std::size_t>(responses.size(), session::most_batch_requests)));
    return encode(reply.reply, reply.array);
}

std::optional<std::vector<std::byte>> controller::handle(std::uint64_t session, std::span<const std::byte> packet)
{
    session::control_request request;
    if (packet.size() < sizeof(request))
        return refused({EINVAL, fmt::format("a request of {} bytes, needed are {}", packet.size(), sizeof(request))});
    std::memcpy(static_cast<void *>(&request), packet.data(), sizeof(request));
    if (request.version != session::control_version)
        return refused({EPROTO, fmt::format("version {} of the controller's requests, mrcd speaks {}", request.version,
                                            session::control_version)});
    const std::span<const std::byte> array = packet.subspan(sizeof(request));
    const auto [element, most] = shape_of(request);
    if (request.count > most)
        return refused({E2BIG, fmt::format("{} elements in a packet, allowed are {}", request.count, most)});
    if (array.size() != request.count * element)
        return refused({EINVAL, fmt::format("{} bytes of array, {} elements are {}", array.size(), request.count,
                                            request.count * element)});
    const auto reply = dispatch(session, request, array);
    return reply ? std::optional{encode(reply->reply, reply->array)} : std::nullopt;
}

bool controller::may_change_settings(std::span<const std::byte> packet)
{
    session::control_request request;
    if (packet.size() < sizeof(request))
        return false;
    std::memcpy(static_cast<void *>(&request), packet.data(), sizeof(request));
    return request.kind == session::control_kind::modify_port ||
           request.kind == session::control_kind::modify_ev_format ||
           request.kind == session::control_kind::modify_ev_profile ||
           request.kind == session::control_kind::modify_cc_profile;
}

std::optional<controller_answer> controller::dispatch(std::uint64_t session, const session::control_request &request,
                                                      std::span<const std::byte> array)
{
    switch (request.kind) {
    case session::control_kind::query_device:
        return query_device();
    case session::control_kind::query_port:
        return query_port(request);
    case session::control_kind::modify_port:
        return modify_port(request);
    case session::control_kind::modify_ev_format:
        return profiles_.modify_ev_format(request, array);
    case session::control_kind::query_ev_format:
        return profiles_.query_ev_format(request);
    case session::control_kind::modify_ev_profile:
        return profiles_.modify_ev_profile(request, array);
    case session::control_kind::query_ev_profile:
        return profiles_.query_ev_profile(request, array);
    case session::control_kind::modify_cc_profile:
        return profiles_.modify_cc_profile(request);
    case session::control_kind::query_cc_profile:
        return profiles_.query_cc_profile(request);
    case session::control_kind::list_profiles:
        return profiles_.list(request);
    case session::control_kind::subscribe_events:
        return subscriptions_.subscribe(session, request);
    case session::control_kind::poll_events:
        return subscriptions_.poll(session, request);
    case session::control_kind::unsubscribe_events:
        return subscriptions_.unsubscribe(session, request);
    case session::control_kind::ep_batch:
        return start_batch(session, request, array);
    }
    return controller_answer{EOPNOTSUPP, "unknown request"};
}

controller_answer controller::query_device() const
{
    constexpr std::uint32_t modify_ev_online = 1U << 0;
    constexpr std::uint32_t modify_cc_online = 1U << 1;
    constexpr std::uint32_t ev_events = 1U << 2;
    constexpr std::uint32_t precise_drop_count = 1U << 4;
    constexpr std::uint32_t ev_probe = 1U << 5;
    controller_answer result;
    session::control_device &device = result.reply.device;
    device = {.version = 1,
              .max_fmt_profiles = limits_.formats,
              .max_profiles = limits_.ev_profiles,
              .max_count = limits_.evs,
              .free_count = limits_.evs - static_cast<std::uint32_t>(evs_.evs_in_use()),
              .max_count_profile = limits_.evs_per_profile,
              .count_align = fabric_.planes,
              .max_width = limits_.ev_width,
              .fmt_mode_mask = session::ev_format_modes,
              .mode_mask = session::ev_modes,
              .op_max_entries = limits_.entries_per_call,
              .cc_max_profiles = limits_.cc_profiles,
              .phy_port_mask = ((1U << fabric_.planes) - 1) << 1,
              .options = ev_events | precise_drop_count | ev_probe | (limits_.modify_ev_online ? modify_ev_online : 0) |
                         (limits_.modify_cc_online ? modify_cc_online : 0),
              .algorithm = {}};
    std::string{session::nscc_algorithm}.copy(device.algorithm, sizeof(device.algorithm) - 1);
    return result;
}

controller_answer controller::query_port(const session::control_request &request)
{
    if ((request.mask & ~1U) != 0 || request.id == 0 || request.id > fabric_.planes)
        return {EINVAL, fmt::format("found port {}, allowed is 1 to {}; the only attribute bit is 1", request.id,
                                    fabric_.planes)};
    const auto enabled = host_.port_enabled(static_cast<unsigned>(request.id));
    if (!enabled)
        return session::outcome<>{std::unexpected{enabled.error()}};
    controller_answer result;
    result.reply.port = {.enabled = *enabled ? 1U : 0U, .reserved = 0};
    return result;
}

controller_answer controller::modify_port(const session::control_request &request)
{
    if ((request.mask & ~1U) != 0 || request.id == 0 || request.id > fabric_.planes)
        return {EINVAL, fmt::format("found port {}, allowed is 1 to {}; the only attribute bit is 1", request.id,
                                    fabric_.planes)};
    if (request.port.enabled > 1)
        return {EINVAL, fmt::format("port state {}, allowed is 0 or 1", request.port.enabled)};
    if (request.mask == 0)
        return {};
    return host_.enable_port(static_cast<unsigned>(request.id), request.port.enabled == 1);
}

void controller::end_session(std::uint64_t session)
{
    subscriptions_.end_session(session);
    unfinished_batches_.erase(session);
}

session::outcome<> controller::check(const session::control_ep &batch,
                                     std::span<const session::ep_request> requests) const
{
    if (batch.operation > static_cast<std::uint32_t>(session::ep_operation::port_status_update))
        return invalid("operation {}, allowed is 0 or 1", batch.operation);
    if (batch.traffic_class > 63)
        return invalid("traffic class {}, allowed is 0 to 63", batch.traffic_class);
    if (requests.empty() || requests.size() > session::most_batch_requests)
        return invalid("a batch of {} requests, allowed are 1 to {}", requests.size(), session::most_batch_requests);
    std::vector<std::uint16_t> ids;
    for (const session::ep_request &request : requests) {
        ids.push_back(request.id);
        if (!std::has_single_bit(request.format_mode) || (request.format_mode & session::ev_format_modes) == 0)
            return invalid("request {}: EV format mode {}, allowed is 1, 2 or 4", request.id, request.format_mode);
        if (request.ev.port == 0 || request.ev.port > fabric_.planes)
            return invalid("request {}: port {}, allowed is 1 to {}", request.id, request.ev.port, fabric_.planes);
    }
    std::ranges::sort(ids);
    if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end())
        return invalid("request id {} stands twice in the batch", *twice);
    return {};
}

std::optional<controller_answer> controller::start_batch(std::uint64_t session, const session::control_request &request,
                                                         std::span<const std::byte> array)
{
    const auto piece = elements_of<session::ep_request>(array);
    std::vector<session::ep_request> &unfinished = unfinished_batches_[session];
    unfinished.insert(unfinished.end(), piece.begin(), piece.end());
    if (request.ep.more != 0 && unfinished.size() <= session::most_batch_requests)
        return controller_answer{};
    auto requests = std::move(unfinished);
    unfinished_batches_.erase(session);
    if (auto right = check(request.ep, requests); !right)
        return right;
    if (auto started = host_.start_batch({.session = session,
                                          .operation = static_cast<session::ep_operation>(request.ep.operation),
                                          .traffic_class = static_cast<std::uint8_t>(request.ep.traffic_class),
                                          .timeout_ns = request.ep.timeout_ns,
                                          .requests = std::move(requests)});
        !started)
        return started;
    return std::nullopt;
}

void controller::set_denied(std::uint64_t profile, std::span<const path_verdict> verdicts)
{
    host_.set_denied(profile, verdicts);
}

void controller::universe_changed(std::uint64_t profile)
{
    host_.universe_changed(profile);
}

void controller::gone_offline(std::uint64_t profile)
{
    host_.gone_offline(profile);
}

void controller::on_event(const session::ev_event &event)
{
    subscriptions_.push(event, [this](std::uint64_t session, std::uint64_t id) { host_.events_ready(session, id); });
}

} // namespace mrc::service::control
