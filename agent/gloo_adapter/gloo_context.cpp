// SPDX-License-Identifier: Apache-2.0
#include "gloo_adapter/gloo_context.h"

#include <algorithm>
#include <utility>

#include <gloo/common/error.h>

#include "gloo_adapter/gloo_buffer.h"

namespace mrc::gloo_adapter
{

gloo_context::gloo_context(std::shared_ptr<gloo_device> device, int own_rank, int ranks)
    : Context{own_rank, ranks}, device_{std::move(device)}
{
}

gloo_context::~gloo_context()
{
    pairs_.clear(); // they know the device by this context
}

std::unique_ptr<gloo::transport::Pair> &gloo_context::createPair(int peer)
{
    auto &place = pairs_.at(static_cast<std::size_t>(peer));
    place = std::make_unique<gloo_pair>(*this, peer);
    return place;
}

std::unique_ptr<gloo::transport::UnboundBuffer> gloo_context::createUnboundBuffer(void *address, std::size_t bytes)
{
    return std::make_unique<gloo_buffer>(shared_from_this(), address, bytes);
}

gloo_pair *gloo_context::find_pair(int peer)
{
    return peer >= 0 && peer < size ? static_cast<gloo_pair *>(getPair(peer).get()) : nullptr;
}

gloo_pair &gloo_context::pair_to(int peer)
{
    gloo_pair *pair = find_pair(peer);
    if (pair == nullptr)
        throw gloo::InvalidOperationException("mrc: rank " + std::to_string(rank) + " has no pair with rank " +
                                              std::to_string(peer));
    return *pair;
}

void gloo_context::receive_from_any(gloo_buffer &buffer, std::uint64_t slot, std::size_t offset, std::size_t bytes,
                                    std::vector<int> ranks)
{
    const auto held = lock();
    const auto wanted = [&](const auto &offer) { return std::ranges::find(ranks, offer.second) != ranks.end(); };
    const auto [first, end] = offers_.equal_range(slot);
    if (const auto found = std::find_if(first, end, wanted); found != end) {
        gloo_pair &pair = pair_to(found->second);
        pair.receive(pair.prepared(buffer, slot, offset, bytes));
        return;
    }
    if (std::ranges::all_of(ranks, [&](int peer) { return gone(peer); }))
        for (const int peer : ranks)
            if (peer != rank)
                pair_to(peer).throw_if_failed();
    open_receives_.emplace(
        slot, open_receive{.buffer = &buffer, .offset = offset, .bytes = bytes, .ranks = std::move(ranks)});
}

bool gloo_context::gone(int peer)
{
    const gloo_pair *pair = find_pair(peer);
    return pair == nullptr || pair->failure() != nullptr;
}

void gloo_context::offer(int peer, std::uint64_t slot)
{
    offers_.emplace(slot, peer);
    const auto [first, end] = open_receives_.equal_range(slot);
    const auto found = std::find_if(first, end, [&](const auto &entry) { return entry.second.may_be(peer); });
    if (found == end)
        return;
    gloo_pair &pair = pair_to(peer);
    auto receive = pair.prepared(*found->second.buffer, slot, found->second.offset, found->second.bytes);
    open_receives_.erase(found);
    pair.receive(std::move(receive));
}

bool gloo_context::waits_for(int peer) const
{
    return std::ranges::any_of(open_receives_, [&](const auto &entry) { return entry.second.may_be(peer); });
}

void gloo_context::on_pair_failed(int peer, const std::exception_ptr &why)
{
    std::erase_if(offers_, [&](const auto &offer) { return offer.second == peer; });
    std::erase_if(open_receives_, [&](const auto &entry) {
        const open_receive &one = entry.second;
        if (!one.may_be(peer) || !std::ranges::all_of(one.ranks, [&](int other) { return gone(other); }))
            return false;
        one.buffer->on_failure(why);
        return true;
    });
}

bool gloo_context::take_offer(int peer, std::uint64_t slot)
{
    const auto [first, end] = offers_.equal_range(slot);
    const auto found = std::find_if(first, end, [&](const auto &offer) { return offer.second == peer; });
    if (found == end)
        return false;
    offers_.erase(found);
    return true;
}

std::string gloo_context::ranks_of(const gloo_buffer &buffer) const
{
    std::string names;
    const auto add = [&](int peer) { names += (names.empty() ? "rank " : ", rank ") + std::to_string(peer); };
    for (const auto &pair : pairs_)
        if (const auto *one = static_cast<const gloo_pair *>(pair.get()); one != nullptr && one->uses(buffer))
            add(one->peer_rank());
    for (const auto &[slot, one] : open_receives_)
        if (one.buffer == &buffer)
            std::ranges::for_each(one.ranks, add);
    return names;
}

void gloo_context::fail(messaging::fabric_endpoint::lock_type &held, const std::string &why)
{
    std::vector<gloo_pair *> all;
    for (const auto &pair : pairs_)
        if (pair)
            all.push_back(static_cast<gloo_pair *>(pair.get()));
    cut(all, held, why);
}

void gloo_context::cut(std::span<gloo_pair *const> pairs, messaging::fabric_endpoint::lock_type &held,
                       const std::string &why)
{
    std::vector<messaging::fabric_connection *> connections;
    for (gloo_pair *pair : pairs) {
        pair->refuse(why);
        if (pair->connection() != nullptr)
            connections.push_back(pair->connection());
    }
    endpoint().cut(connections, held);
    for (gloo_pair *pair : pairs) {
        pair->on_cut();
        pair->signal();
    }
}

void gloo_context::forget(gloo_buffer &buffer)
{
    auto held = lock();
    std::erase_if(open_receives_, [&](const auto &entry) { return entry.second.buffer == &buffer; });
    for (const auto &pair : pairs_) {
        auto *one = static_cast<gloo_pair *>(pair.get());
        if (one == nullptr || !one->uses(buffer))
            continue;
        one->drop(buffer);
        cut(std::span{&one, 1}, held,
            "mrc: a buffer went before its transfer with " + one->peer_name() + " was complete");
    }
}

} // namespace mrc::gloo_adapter
