// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/qp_attributes.h"

#include <algorithm>
#include <cstring>

#include "mrc/abi/wire.h"
#include "session/values.h"

namespace mrc::service
{

using protocol::qp_state;

namespace
{

constexpr std::uint16_t default_immediates = 128;
constexpr std::uint32_t least_mtu = 256;
constexpr std::uint32_t usable_timeout = 24;
constexpr std::uint32_t usable_linear = 7;
constexpr std::uint32_t usable_exponential = 25;

} // namespace

session::qp_attributes initial_attributes(std::uint32_t qpn, std::uint32_t window_psns, const peer_defaults &peers)
{
    session::qp_attributes fresh{};
    fresh.qpn = qpn;
    fresh.mpr = static_cast<std::uint8_t>(window_psns / MRC_MPR_UNIT);
    fresh.mpr_dest = fresh.mpr;
    fresh.timeout = 8;
    fresh.linear = usable_linear;
    fresh.exponential = usable_exponential; // a peer that starts slowly kills no queue pair
    fresh.max_wimm = default_immediates;
    fresh.max_wimm_dest = default_immediates;
    fresh.capabilities = capabilities_of(peers);
    return fresh;
}

std::string why_refused(const session::qp_attributes &wanted, const session::qp_attributes &now, qp_state from,
                        const attribute_bounds &bounds)
{
    const auto sets = [&](std::uint32_t what) { return (wanted.mask & what) != 0; };
    const std::uint32_t window = bounds.window_psns / MRC_MPR_UNIT;
    if (sets(session::qp_sets_state) && wanted.state > static_cast<std::uint8_t>(qp_state::error))
        return "no such state";
    if ((sets(session::qp_sets_mpr) && (wanted.mpr == 0 || wanted.mpr > window)) ||
        (sets(session::qp_sets_mpr_dest) && (wanted.mpr_dest == 0 || wanted.mpr_dest > window)))
        return "mpr and mpr_dest are 1 to " + std::to_string(window) + ", in units of 128 PSNs";
    if ((sets(session::qp_sets_max_wimm) && wanted.max_wimm > most_immediates) ||
        (sets(session::qp_sets_max_wimm_dest) && wanted.max_wimm_dest > most_immediates))
        return "max_wimm and max_wimm_dest are 0 to " + std::to_string(most_immediates);
    if (sets(session::qp_sets_timeout) && wanted.timeout > usable_timeout)
        return "timeout is 0 to 24";
    if (sets(session::qp_sets_retries) && (wanted.linear > usable_linear || wanted.exponential > usable_exponential))
        return "linear retries are 0 to 7, exponential ones 0 to 25";
    if ((sets(session::qp_sets_receive_psn) && wanted.receive_psn > MRC_PSN_MASK) ||
        (sets(session::qp_sets_send_psn) && wanted.send_psn > MRC_PSN_MASK))
        return "a PSN has 24 bits";
    if (sets(session::qp_sets_peer) && (wanted.peer_qpn < MRC_QPN_FIRST_USABLE || wanted.peer_qpn >= MRC_QPN_MASK))
        return "peer's queue pair number is out of range";
    if (sets(session::qp_sets_mtu) && wanted.payload_bytes < least_mtu)
        return "the path MTU is at least 256";
    if (sets(session::qp_sets_capabilities) &&
        (wanted.capabilities & ~std::uint32_t{session::qp_all_capabilities}) != 0)
        return "unknown capability bit";
    if (!bounds.connected ||
        (sets(session::qp_sets_state) && wanted.state == static_cast<std::uint8_t>(qp_state::reset)))
        return {};
    const auto changes = [&](std::uint32_t what, auto... fields) {
        return sets(what) && ((std::memcmp(&(wanted.*fields), &(now.*fields), sizeof(wanted.*fields)) != 0) || ...);
    };
    using at = session::qp_attributes;
    if (changes(session::qp_sets_access, &at::access) || changes(session::qp_sets_peer, &at::peer, &at::peer_qpn) ||
        changes(session::qp_sets_receive_psn, &at::receive_psn) || changes(session::qp_sets_mtu, &at::payload_bytes) ||
        changes(session::qp_sets_mpr_dest, &at::mpr_dest) ||
        changes(session::qp_sets_max_wimm_dest, &at::max_wimm_dest) ||
        changes(session::qp_sets_capabilities, &at::capabilities) ||
        changes(session::qp_sets_ev_profile, &at::ev_profile) || changes(session::qp_sets_cc_profile, &at::cc_profile))
        return "what concerns the peer and the profiles of a queue pair cannot be changed after RTR";
    if (from != qp_state::ready_to_receive &&
        (changes(session::qp_sets_send_psn, &at::send_psn) || changes(session::qp_sets_mpr, &at::mpr) ||
         changes(session::qp_sets_max_wimm, &at::max_wimm) || changes(session::qp_sets_timeout, &at::timeout) ||
         changes(session::qp_sets_retries, &at::linear, &at::exponential)))
        return "how a queue pair sends cannot be changed after RTS";
    return {};
}

void adopt(session::qp_attributes &now, const session::qp_attributes &wanted)
{
    const auto take = [&](std::uint32_t what, auto session::qp_attributes::*field) {
        if ((wanted.mask & what) != 0)
            now.*field = wanted.*field;
    };
    take(session::qp_sets_access, &session::qp_attributes::access);
    take(session::qp_sets_peer, &session::qp_attributes::peer);
    take(session::qp_sets_peer, &session::qp_attributes::peer_qpn);
    take(session::qp_sets_receive_psn, &session::qp_attributes::receive_psn);
    take(session::qp_sets_send_psn, &session::qp_attributes::send_psn);
    take(session::qp_sets_mtu, &session::qp_attributes::payload_bytes);
    take(session::qp_sets_mpr, &session::qp_attributes::mpr);
    take(session::qp_sets_mpr_dest, &session::qp_attributes::mpr_dest);
    take(session::qp_sets_max_wimm, &session::qp_attributes::max_wimm);
    take(session::qp_sets_max_wimm_dest, &session::qp_attributes::max_wimm_dest);
    take(session::qp_sets_timeout, &session::qp_attributes::timeout);
    take(session::qp_sets_retries, &session::qp_attributes::linear);
    take(session::qp_sets_retries, &session::qp_attributes::exponential);
    take(session::qp_sets_capabilities, &session::qp_attributes::capabilities);
    take(session::qp_sets_hint, &session::qp_attributes::senders_here);
    take(session::qp_sets_hint, &session::qp_attributes::senders_elsewhere);
    take(session::qp_sets_hint, &session::qp_attributes::receivers);
    take(session::qp_sets_ev_profile, &session::qp_attributes::ev_profile);
    take(session::qp_sets_cc_profile, &session::qp_attributes::cc_profile);
}

protocol::send_terms terms_of(const session::qp_attributes &now)
{
    return {.first = protocol::psn{now.send_psn},
            .window_psns = now.mpr * std::uint32_t{MRC_MPR_UNIT},
            .max_wimm = now.max_wimm,
            .retry = {.timeout_exponent = now.timeout, .linear = now.linear, .exponential = now.exponential}};
}

double share_of(const session::qp_attributes &now, bool shares_controller)
{
    const unsigned here = std::max<unsigned>(1, now.senders_here);
    const double of_receiver = (shares_controller ? here : 1.0) / (here + now.senders_elsewhere);
    const double of_sender = (shares_controller ? 1.0 : 1.0 / here) / std::max<unsigned>(1, now.receivers);
    return std::min(of_receiver, of_sender);
}

std::uint32_t capabilities_of(const peer_defaults &peers)
{
    return (peers.trim_nack ? 0U : std::uint32_t{session::qp_peer_lacks_trim_nack}) |
           (peers.dynamic_mpr ? std::uint32_t{session::qp_dynamic_mpr} : 0U) |
           (peers.service_time ? 0U : std::uint32_t{session::qp_peer_lacks_service_time});
}

peer_defaults peer_of(const session::qp_attributes &now)
{
    return {.trim_nack = (now.capabilities & session::qp_peer_lacks_trim_nack) == 0,
            .service_time = (now.capabilities & session::qp_peer_lacks_service_time) == 0,
            .dynamic_mpr = (now.capabilities & session::qp_dynamic_mpr) != 0};
}

} // namespace mrc::service
