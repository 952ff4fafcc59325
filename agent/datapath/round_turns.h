// SPDX-License-Identifier: Apache-2.0
// Which threads make a worker's rounds: one at a time, and what it did is seen by the next.
//
// One is the keeper, who goes on for as long as something has to be done, and sleeps until then: the worker's own
// thread. Where the worker is part of a program (embedded), the program's threads are guests. One that posts or polls
// makes a round by itself, which saves its message the way through another thread; also while the keeper sleeps. A
// guest that waits for events becomes the keeper, and one that spins has no need of any: then the own thread stands
// aside, and takes over when there is neither a keeper nor a guest for a while, or when it is summoned.
//
// Guests that find another guest as the keeper wait for what it brings. While there are such followers, the own thread
// is the keeper, for none of them knows of the others' events.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "kernel/unique_fd.h"

namespace mrc::datapath
{

class round_turns
{
public:
    round_turns(); // throws startup_error

    // Whoever holds it makes rounds, or does to the worker what nobody may see half-done. Not held while the keeper
    // sleeps.
    [[nodiscard]] std::mutex &baton() { return baton_; }

    // The own thread: false while a guest is the keeper, or about to be.
    [[nodiscard]] bool try_keep();
    // A guest wants it to stand aside.
    [[nodiscard]] bool is_unwanted() const { return unwanted_.load(std::memory_order_relaxed) || has_candidates(); }
    void stop_keeping();
    // Until there is nobody else, for a while, or somebody summons it.
    void stand_aside();

    // Any thread: the own thread is to be the keeper, if there is none.
    void summon();

    // A guest makes a round.
    void note_visit() { visits_.fetch_add(1, std::memory_order_relaxed); }
    // A guest that spins: the own thread is to stand aside, unless followers rely on it. Whether it has to be woken for
    // it.
    [[nodiscard]] bool send_aside();
    // A guest that is going to wait, once the own thread has stood aside: false if another guest is the keeper, or
    // there are followers. `wake` ends the own thread's sleep.
    template <typename Wake>
    [[nodiscard]] bool become_keeper(Wake wake)
    {
        candidates_.fetch_add(1);
        bool is_keeper = false;
        for (;;) {
            const std::uint32_t seen = changes_.load();
            std::uint32_t found = nobody;
            if (followers_.load() != 0 || !admits_guests())
                break;
            if (keeper_.compare_exchange_strong(found, guest)) {
                note_visit();
                is_keeper = true;
                break;
            }
            if (found == guest)
                break;
            wake();
            changes_.wait(seen);
        }
        candidates_.fetch_sub(1);
        return is_keeper;
    }
    void leave_keeping();
    void add_follower();
    void remove_follower() { followers_.fetch_sub(1); }

    // Guests are to leave, and none comes any more.
    void dismiss_guests();
    [[nodiscard]] bool admits_guests() const { return admits_guests_.load(std::memory_order_relaxed); }

private:
    enum keepers : std::uint32_t { nobody, own, guest };

    // Guests that want to be the keeper in its place, and may.
    [[nodiscard]] bool has_candidates() const { return candidates_.load() != 0 && followers_.load() == 0; }
    void note_change();
    void wait_for_bell(std::optional<std::chrono::microseconds> most) const;
    void ring() const;

    std::mutex baton_;
    std::atomic<std::uint32_t> keeper_ = nobody;
    std::atomic<bool> unwanted_ = false;        // by a guest that spins
    std::atomic<std::uint32_t> candidates_ = 0; // guests
    std::atomic<std::uint32_t> changes_ = 0;    // of what candidates wait for
    std::atomic<std::uint64_t> visits_ = 0;
    std::atomic<int> followers_ = 0;
    std::atomic<bool> admits_guests_ = true;
    std::atomic<bool> aside_ = false; // the own thread is
    std::atomic<bool> summoned_ = false;
    std::atomic<bool> rings_ = false; // the guest that leaves as the keeper
    kernel::unique_fd bell_;          // of the own thread while it is aside
};

} // namespace mrc::datapath
