// SPDX-License-Identifier: Apache-2.0
// Answers the requests of control_protocol.h. It reads bytes that any client may have written: lengths, counts, masks
// and enumerators are checked here, their meaning by the stores. Who may ask at all is checked before
// (peer_capability.h).
//
// One per daemon: profiles outlive the processes that made them. Subscriptions to EV events belong to a session and end
// with it. Not thread-safe; for the service thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "service/control/cc_profile_store.h"
#include "service/control/controller_answer.h"
#include "service/control/ev_format_store.h"
#include "service/control/ev_profile_store.h"
#include "service/control/ev_subscriptions.h"
#include "service/control/profile_requests.h"
#include "session/control_protocol.h"

namespace mrc::service::control
{

struct ep_batch {
    std::uint64_t session = 0;
    session::ep_operation operation = session::ep_operation::ev_probe;
    std::uint8_t traffic_class = 0;
    std::uint32_t timeout_ns = 0;
    std::vector<session::ep_request> requests; // checked, but for the addresses
};

// What the daemon does for the controller.
class control_host
{
public:
    control_host() = default;
    control_host(const control_host &) = delete;
    control_host &operator=(const control_host &) = delete;
    virtual ~control_host() = default;

    // Ports are 1-based and within the fabric's planes.
    [[nodiscard]] virtual session::outcome<bool> port_enabled(unsigned port) = 0;
    virtual session::outcome<> enable_port(unsigned port, bool enabled) = 0;
    // As profile_effects.
    virtual void set_denied(std::uint64_t profile, std::span<const path_verdict> verdicts) = 0;
    virtual void universe_changed(std::uint64_t profile) = 0;
    virtual void gone_offline(std::uint64_t profile) = 0;
    // The subscription had no event and has one now.
    virtual void events_ready(std::uint64_t session, std::uint64_t subscription) = 0;
    // Begins to send; when all requests are answered or their time is up, sends ep_reply() to the session.
    virtual session::outcome<> start_batch(ep_batch batch) = 0;
};

class controller final : private profile_effects
{
public:
    // `host` is borrowed and outlives the controller. `built_in`: what CC profile 0 shows.
    controller(const session::profile_limits &limits, const fabric_shape &fabric, cc_profile built_in,
               control_host &host);

    // The reply to one packet from a session; nothing when it comes later (ep_batch).
    [[nodiscard]] std::optional<std::vector<std::byte>> handle(std::uint64_t session,
                                                               std::span<const std::byte> packet);
    void end_session(std::uint64_t session);
    // Whether a request asks for a change of what is kept for the next start.
    [[nodiscard]] static bool may_change_settings(std::span<const std::byte> packet);

    // ETIMEDOUT and EINVAL, too, have the responses that arrived.
    [[nodiscard]] static std::vector<std::byte> ep_reply(const session::outcome<> &result,
                                                         std::span<const session::ep_response> responses);
    // For a session that may not ask.
    [[nodiscard]] static std::vector<std::byte> refused(const session::refusal &why);

    [[nodiscard]] ev_format_store &ev_formats() { return formats_; }
    [[nodiscard]] ev_profile_store &ev_profiles() { return evs_; }
    [[nodiscard]] cc_profile_store &cc_profiles() { return ccs_; }

private:
    [[nodiscard]] std::optional<controller_answer>
    dispatch(std::uint64_t session, const session::control_request &request, std::span<const std::byte> array);
    [[nodiscard]] controller_answer query_device() const;
    [[nodiscard]] controller_answer query_port(const session::control_request &request);
    [[nodiscard]] controller_answer modify_port(const session::control_request &request);
    [[nodiscard]] std::optional<controller_answer>
    start_batch(std::uint64_t session, const session::control_request &request, std::span<const std::byte> array);
    [[nodiscard]] session::outcome<> check(const session::control_ep &batch,
                                           std::span<const session::ep_request> requests) const;

    void set_denied(std::uint64_t profile, std::span<const path_verdict> verdicts) override;
    void universe_changed(std::uint64_t profile) override;
    void gone_offline(std::uint64_t profile) override;
    void on_event(const session::ev_event &event) override;

    session::profile_limits limits_;
    fabric_shape fabric_;
    control_host &host_;
    ev_format_store formats_;
    ev_profile_store evs_;
    cc_profile_store ccs_;
    profile_requests profiles_{formats_, evs_, ccs_};
    ev_subscriptions subscriptions_;
    std::map<std::uint64_t, std::vector<session::ep_request>>
        unfinished_batches_; // by session: more of them is to come
};

} // namespace mrc::service::control
