// SPDX-License-Identifier: Apache-2.0
#include "service/control/control_service.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <sys/eventfd.h>

#include "kernel/monotonic_clock.h"
#include "kernel/shared_word.h"
#include "kernel/startup_error.h"
#include "service/config/profiles.h"
#include "service/control/peer_capability.h"

namespace mrc::service
{

control_service::control_service(surroundings around)
    : around_{std::move(around)}, controller_{session::profile_limits{}, shape_of(around_.config),
                                              built_in_cc_profile(around_.config, around_.payload_bytes), *this},
      batches_{around_.rules, [this](const mrc_ip &address) { return peer_for(address, session::built_in_profile, 0); },
               around_.workers},
      bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
{
    if (!bell_)
        kernel::fail_startup("cannot create the controller's bell");
    if (const auto made =
            apply_profiles(around_.config, around_.payload_bytes, controller_.ev_profiles(), controller_.cc_profiles());
        !made)
        throw kernel::startup_error{made.error().text()};
}

std::optional<std::vector<std::byte>> control_service::handle(std::uint64_t session, int socket,
                                                              std::uint64_t connected_at,
                                                              std::span<const std::byte> packet)
{
    if (const auto allowed = control::check_net_admin(socket, connected_at); !allowed)
        return control::controller::refused(allowed.error());
    auto reply = controller_.handle(session, packet);
    if (control::controller::may_change_settings(packet))
        around_.settings_changed();
    return reply;
}

void control_service::end_session(std::uint64_t session)
{
    controller_.end_session(session);
    batches_.end_session(session);
}

control::setting_stores control_service::stores()
{
    return {.formats = controller_.ev_formats(), .evs = controller_.ev_profiles(), .ccs = controller_.cc_profiles()};
}

control::stored_settings control_service::settings()
{
    control::configured_profiles configured;
    std::ranges::transform(around_.config.ev_profiles, std::back_inserter(configured.ev), &ev_profile_options::id);
    std::ranges::transform(around_.config.cc_profiles, std::back_inserter(configured.cc), &cc_profile_options::id);
    return control::settings_of(stores(), configured, enabled_, around_.rules.planes());
}

session::outcome<> control_service::restore(const control::stored_settings &settings)
{
    if (auto right = check_settings(around_.config, settings); !right)
        return right;
    if (auto restored = control::restore(settings, stores(), around_.rules.planes()); !restored)
        return restored;
    for (const unsigned port : settings.disabled_ports)
        enabled_.set(protocol::plane_index{static_cast<std::uint8_t>(port - 1)}, false);
    around_.workers.call_each([&](unsigned number, datapath::worker &worker) {
        around_.workers.ports(number).local.enabled = enabled_;
        worker.ports_changed();
    });
    around_.ports.enable(enabled_);
    return {};
}

void control_service::ring()
{
    [[maybe_unused]] const int rung = ::eventfd_write(bell_.get(), 1);
}

// False: there is no room.
bool control_service::keep(const noted &one)
{
    const std::scoped_lock guard{noting_};
    if (notes_.full())
        return false;
    notes_.push_back(one);
    return true;
}

void control_service::note(const protocol::path_transition &change)
{
    if (!keep(noted_path{.path = change.path, .condition = {change.to, change.cause}}))
        lost_ = true;
    ring();
}

void control_service::note_peer(const mrc_ip &peer, const peer_condition &condition)
{
    if (!keep(noted_peer{.peer = peer, .condition = condition}))
        lost_ = true;
    ring();
}

void control_service::note_failure(const queue_pair_names &which, mrc_event_reason reason)
{
    if (!keep(noted_failure{.which = which, .reason = reason}))
        untold_failures_.fetch_add(1, std::memory_order_relaxed);
    ring();
}

void control_service::note_batch()
{
    ring();
}

void control_service::take_notes()
{
    eventfd_t rings = 0;
    [[maybe_unused]] const int read = ::eventfd_read(bell_.get(), &rings);
    observe_notes();
    while (const auto over = batches_.take_finished())
        around_.send_reply(over->session, over->reply);
}

void control_service::observe_notes()
{
    {
        const std::scoped_lock guard{noting_};
        taken_.swap(notes_);
    }
    for (const noted &one : taken_)
        std::visit([this](const auto &known) { observe(known); }, one);
    taken_.clear();
    if (lost_.exchange(false)) {
        for (const auto &[path, condition] : around_.peers.path_conditions())
            observe(noted_path{.path = path, .condition = condition});
        for (const auto &[peer, condition] : around_.peers.peer_conditions())
            observe(noted_peer{.peer = peer, .condition = condition});
    }
    // Of which only the number is known. It takes a full ring to have one, so these lines are few.
    if (const std::uint32_t untold = untold_failures_.exchange(0); untold != 0) {
        around_.tables.host[0].untold_qp_errors += untold;
        around_.log.on_untold_failures(untold, kernel::monotonic_now());
    }
}

void control_service::observe(const noted_path &one)
{
    const auto place = around_.peers.place_of(one.path);
    if (!place)
        return;
    const mrc_path_row &row = around_.tables.paths[one.path.value];
    around_.log.on_path({.profile = place->profile, .leaf = place->leaf, .plane = place->plane}, place->uplink,
                        place->paths, one.condition,
                        {.row = one.path.value,
                         .tx_packets = kernel::shared_word(row.tx_packets),
                         .losses = kernel::shared_word(row.losses),
                         .last_ack_ns = kernel::shared_word(around_.tables.signals[one.path.value].last_ack_ns)},
                        kernel::monotonic_now());
    if (place->leaf != around_.rules.self().leaf) // profiles are of the EVs toward other leaves
        controller_.ev_profiles().observe(place->profile, place->leaf, {.plane = place->plane, .uplink = place->uplink},
                                          one.condition.state);
}

void control_service::observe(const noted_peer &one)
{
    around_.peers.spread_ports(one.peer, one.condition.ports);
    around_.log.on_peer(one.peer, one.condition, kernel::monotonic_now());
}

void control_service::observe(const noted_failure &one)
{
    around_.log.on_queue_pair(MRC_EVENT_QP_ERROR, one.which, one.reason, kernel::monotonic_now());
}

std::expected<held_peer, peer_refusal> control_service::peer_for(const mrc_ip &address, std::uint64_t ev_profile,
                                                                 unsigned worker)
{
    auto peer = around_.peers.hold(address, ev_profile, controller_.ev_profiles(), worker);
    if (!peer && peer.error().is_full && around_.peers.any_unused()) {
        release_unused_peers(true);
        peer = around_.peers.hold(address, ev_profile, controller_.ev_profiles(), worker);
    }
    return peer;
}

void control_service::release_unused_peers(bool at_once)
{
    const peer_directory::released gone = around_.peers.release_unused(at_once);
    observe_notes();
    for (const group_key key : gone.groups) {
        controller_.ev_profiles().forget_group(key.profile, key.leaf);
        around_.log.forget_group(key.profile, key.leaf);
    }
    for (const mrc_ip &peer : gone.peers)
        around_.log.forget_peer(peer);
}

session::outcome<bool> control_service::port_enabled(unsigned port)
{
    return enabled_.has(protocol::plane_index{static_cast<std::uint8_t>(port - 1)});
}

session::outcome<> control_service::enable_port(unsigned port, bool enabled)
{
    const protocol::plane_index plane{static_cast<std::uint8_t>(port - 1)};
    enabled_.set(plane, enabled);
    apply_enabled(plane);
    return {};
}

void control_service::leave_plane(protocol::plane_index plane, bool left)
{
    left_.set(plane, left);
    apply_enabled(plane);
}

// Peers hear of it, and nothing is sent there from now on: the O(1) mask is what changes.
void control_service::apply_enabled(protocol::plane_index plane)
{
    bool was_usable = false;
    bool usable = false;
    protocol::plane_mask enabled;
    around_.workers.call_each([&](unsigned number, datapath::worker &worker) {
        protocol::local_ports &local = around_.workers.ports(number).local;
        was_usable = local.usable().has(plane);
        local.enabled.set(plane, enabled_.has(plane) && !left_.has(plane));
        worker.ports_changed();
        usable = local.usable().has(plane);
        enabled = local.enabled;
    });
    around_.ports.enable(enabled);
    if (usable != was_usable)
        around_.notify_ports(plane, usable);
}

void control_service::set_denied(std::uint64_t profile, std::span<const control::path_verdict> verdicts)
{
    around_.peers.set_denied(profile, verdicts);
}

void control_service::events_ready(std::uint64_t session, std::uint64_t subscription)
{
    around_.notify_session(session, subscription);
}

session::outcome<> control_service::start_batch(control::ep_batch batch)
{
    return batches_.start(batch);
}

} // namespace mrc::service
