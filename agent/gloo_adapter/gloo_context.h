// SPDX-License-Identifier: Apache-2.0
// Gloo's context: the pairs of one rank with all others, and who is received from where the program leaves it open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include <gloo/transport/context.h>

#include "gloo_adapter/gloo_device.h"
#include "gloo_adapter/gloo_pair.h"

namespace mrc::gloo_adapter
{

class gloo_context : public gloo::transport::Context, public std::enable_shared_from_this<gloo_context>
{
public:
    gloo_context(std::shared_ptr<gloo_device> device, int own_rank, int ranks);
    gloo_context(const gloo_context &) = delete;
    gloo_context &operator=(const gloo_context &) = delete;
    ~gloo_context() override;

    std::unique_ptr<gloo::transport::Pair> &createPair(int peer) override;
    std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void *address, std::size_t bytes) override;

    [[nodiscard]] messaging::fabric_endpoint &endpoint() { return device_->endpoint(); }
    [[nodiscard]] messaging::fabric_endpoint::lock_type lock() { return endpoint().lock(); }
    // Throws gloo::InvalidOperationException: there is none.
    [[nodiscard]] gloo_pair &pair_to(int peer);

    void receive_from_any(gloo_buffer &buffer, std::uint64_t slot, std::size_t offset, std::size_t bytes,
                          std::vector<int> ranks);

    // With the lock held.
    // A send of this peer waits for a receive, which one from any rank may be. Throws as gloo_pair::prepared(): then
    // both wait on.
    void offer(int peer, std::uint64_t slot);
    // A receive from this peer takes its oldest send that waits; false: none does.
    bool take_offer(int peer, std::uint64_t slot);
    // Whether a receive from any rank may be one from this peer.
    [[nodiscard]] bool waits_for(int peer) const;
    // Its sends come no more, and receives from any rank fail when this was the last that they may be from.
    void on_pair_failed(int peer, const std::exception_ptr &why);
    // The ranks that a buffer waits for: "rank 1, rank 3".
    [[nodiscard]] std::string ranks_of(const gloo_buffer &buffer) const;
    // All pairs are closed; no far end reaches this process's memory afterwards.
    void fail(messaging::fabric_endpoint::lock_type &held, const std::string &why);

    // Takes the lock. A buffer goes.
    void forget(gloo_buffer &buffer);

    // Of what waits, of this context and its pairs; with the lock held. What one thread asks for another one completes:
    // general-purpose memory grows for long by that.
    [[nodiscard]] std::pmr::memory_resource &memory() { return memory_; }

private:
    // Null: there is none.
    [[nodiscard]] gloo_pair *find_pair(int peer);
    // Nothing comes from this rank, or any more: it is this one, has no pair, or the pair has failed.
    [[nodiscard]] bool gone(int peer);
    // As fail(), of some pairs.
    void cut(std::span<gloo_pair *const> pairs, messaging::fabric_endpoint::lock_type &held, const std::string &why);

    struct open_receive {
        gloo_buffer *buffer;
        std::size_t offset;
        std::size_t bytes;
        std::vector<int> ranks;

        [[nodiscard]] bool may_be(int peer) const { return std::ranges::find(ranks, peer) != ranks.end(); }
    };

    std::shared_ptr<gloo_device> device_;
    std::pmr::unsynchronized_pool_resource memory_;
    std::pmr::multimap<std::uint64_t, open_receive> open_receives_{&memory_}; // by slot, in order
    std::pmr::multimap<std::uint64_t, int> offers_{&memory_}; // ranks whose sends wait, by slot, in order
};

} // namespace mrc::gloo_adapter
