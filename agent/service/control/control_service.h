// SPDX-License-Identifier: Apache-2.0
// The controller API in the daemon: who may ask, the profiles, and what they do to ports, paths and queue pairs;
// requests to other hosts. On the service thread, but for what says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <boost/circular_buffer.hpp>

#include "kernel/unique_fd.h"
#include "service/control/controller.h"
#include "service/control/stored_settings.h"
#include "service/peer_directory.h"
#include "service/ports/host_ports.h"
#include "service/sessions/ep_batches.h"
#include "service/transition_log.h"

namespace mrc::service
{

class control_service final : private control::control_host
{
public:
    static constexpr std::size_t most_noted = 4096;

    struct surroundings {
        const daemon_config &config;
        const fabric_rules &rules;
        const kernel::host_tables &tables;
        const worker_crew &workers;
        port_controls &ports;
        peer_directory &peers;
        transition_log &log;
        std::uint32_t payload_bytes = 0;
        // An EV event waits for that subscription of that session.
        std::function<void(std::uint64_t session, std::uint64_t subscription)> notify_session;
        std::function<void(protocol::plane_index which, bool usable)> notify_ports;
        // A reply that was not there yet when the session asked.
        std::function<void(std::uint64_t session, std::span<const std::byte> reply)> send_reply;
        // settings() may be other ones now.
        std::function<void()> settings_changed;
    };

    // Makes the profiles of the configuration. Throws startup_error for one that a store refuses.
    explicit control_service(surroundings around);

    // The reply to one packet, EPERM for a client that may not ask; nothing when it comes later. `connected_at`:
    // CLOCK_BOOTTIME nanoseconds.
    [[nodiscard]] std::optional<std::vector<std::byte>>
    handle(std::uint64_t session, int socket, std::uint64_t connected_at, std::span<const std::byte> packet);
    void end_session(std::uint64_t session);

    // What controllers have set, and the same at a later start: before the first session, and not at all where a piece
    // of it is refused.
    [[nodiscard]] control::stored_settings settings();
    [[nodiscard]] session::outcome<> restore(const control::stored_settings &settings);

    // The peer as a queue pair of that worker and an EV profile, ONLINE and held, reaches it. What nobody uses makes
    // room, if need be.
    [[nodiscard]] std::expected<held_peer, peer_refusal> peer_for(const mrc_ip &address, std::uint64_t ev_profile,
                                                                  unsigned worker);
    // As the peer directory's; nothing that is still to be told of what goes is taken for news of what comes after it.
    void release_unused_peers(bool at_once);

    [[nodiscard]] control::ev_profile_store &ev_profiles() { return controller_.ev_profiles(); }
    [[nodiscard]] control::cc_profile_store &cc_profiles() { return controller_.cc_profiles(); }

    // The host itself leaves the plane, or comes back to it; a controller's word holds besides.
    void leave_plane(protocol::plane_index plane, bool left);
    // By controllers.
    [[nodiscard]] protocol::plane_mask enabled_planes() const { return enabled_; }

    // On the threads of workers: a path has changed its state.
    void note(const protocol::path_transition &change);
    // Likewise: what a peer says of its ports has changed, or whether and on which planes it is reached.
    void note_peer(const mrc_ip &peer, const peer_condition &condition);
    // Likewise: a queue pair has failed. Beyond `most_noted` until take_notes() they are only counted.
    void note_failure(const queue_pair_names &which, mrc_event_reason reason);
    // Likewise: a batch is over.
    void note_batch();
    // Readable when one of them was called; then take_notes().
    [[nodiscard]] int notes_fd() const { return bell_.get(); }
    void take_notes();
    // What workers have noted until now: before anything is told that came after it.
    void observe_notes();

private:
    struct noted_path {
        protocol::path_index path;
        protocol::path_condition condition;
    };
    struct noted_peer {
        mrc_ip peer{};
        peer_condition condition;
    };
    struct noted_failure {
        queue_pair_names which;
        mrc_event_reason reason = MRC_REASON_NONE;
    };
    using noted = std::variant<noted_path, noted_peer, noted_failure>;

    [[nodiscard]] session::outcome<bool> port_enabled(unsigned port) override;
    session::outcome<> enable_port(unsigned port, bool enabled) override;
    void set_denied(std::uint64_t profile, std::span<const control::path_verdict> verdicts) override;
    void universe_changed(std::uint64_t profile) override
    {
        around_.peers.exchange_evs(profile, controller_.ev_profiles());
    }
    void gone_offline(std::uint64_t profile) override
    {
        around_.peers.forget_profile(profile);
        around_.log.forget_profile(profile);
    }
    void events_ready(std::uint64_t session, std::uint64_t subscription) override;
    session::outcome<> start_batch(control::ep_batch batch) override;

    [[nodiscard]] control::setting_stores stores();
    void apply_enabled(protocol::plane_index plane);
    [[nodiscard]] bool keep(const noted &one);
    void ring();
    void observe(const noted_path &one);
    void observe(const noted_peer &one);
    void observe(const noted_failure &one);

    surroundings around_;
    protocol::plane_mask enabled_ = protocol::every_plane; // by controllers
    protocol::plane_mask left_;                            // by the host
    control::controller controller_;
    ep_batches batches_;
    std::mutex noting_; // what follows
    boost::circular_buffer<noted> notes_{most_noted};
    boost::circular_buffer<noted> taken_{most_noted}; // the service thread's: what is told now
    std::atomic<bool> lost_ = false;                  // paths or peers that did not fit: all are asked
    std::atomic<std::uint32_t> untold_failures_ = 0;  // queue pairs that did not
    kernel::unique_fd bell_;
};

} // namespace mrc::service
