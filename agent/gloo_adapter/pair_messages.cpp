// SPDX-License-Identifier: Apache-2.0
// What a pair does with what its far end sends.
#include <cstring>

#include <gloo/common/error.h>

#include "gloo_adapter/gloo_buffer.h"
#include "gloo_adapter/gloo_context.h"
#include "gloo_adapter/gloo_pair.h"

namespace mrc::gloo_adapter
{

void gloo_pair::on_connected()
{
    connected_ = true;
    connected_changed_.notify_all();
}

void gloo_pair::on_message(std::span<const std::byte> message)
{
    const auto head = head_of(message);
    if (!head) {
        fail_connection("sent a message of " + std::to_string(message.size()) + " bytes, which is none");
        return;
    }
    switch (head->type) {
    case message_type::send_ready:
        on_send_ready(head->slot);
        return;
    case message_type::receive_ready:
        on_receive_ready(*head);
        return;
    case message_type::data:
        on_data(*head, message.subspan(sizeof(*head)));
        return;
    case message_type::buffer_data:
        if (!bound_.on_data(*head, message.subspan(sizeof(*head))))
            fail_connection("sent " + std::to_string(head->bytes) + " bytes to no buffer of this end");
        return;
    case message_type::buffer_ready:
    case message_type::buffer_gone:
        on_buffer(*head);
        return;
    }
    fail_connection("sent a message that this version does not know");
}

void gloo_pair::on_send_ready(std::uint64_t slot)
{
    if (const auto owed = unannounced_.find(slot); owed != unannounced_.end()) {
        if (--owed->second == 0)
            unannounced_.erase(owed);
        return;
    }
    try {
        context_.offer(peer_rank_, slot);
    } catch (const gloo::Exception &failure) {
        fail_connection(std::string{"cannot be received from: "} + failure.what());
    }
}

void gloo_pair::on_buffer(const message_head &head)
{
    try {
        bound_.on_message(head);
    } catch (const gloo::Exception &failure) {
        fail_connection(std::string{"cannot be sent to: "} + failure.what());
    }
}

void gloo_pair::on_receive_ready(const message_head &head)
{
    const auto first = sends_.lower_bound(head.slot);
    if (first == sends_.end() || first->first != head.slot) {
        far_receives_.emplace(head.slot, head);
        return;
    }
    try {
        const waiting_send one = first->second;
        const messaging::held_range source = source_of(one);
        sends_.erase(first);
        transfer(one, source, head, true);
    } catch (const gloo::Exception &failure) {
        fail_connection(std::string{"cannot be sent to: "} + failure.what());
    }
}

void gloo_pair::on_data(const message_head &head, std::span<const std::byte> bytes)
{
    const auto found = receives_.find(head.id);
    if (found == receives_.end() || bytes.size() > found->second.bytes) {
        fail_connection("sent " + std::to_string(bytes.size()) + " bytes that nobody receives");
        return;
    }
    if (!bytes.empty())
        std::memcpy(at(*found->second.buffer, found->second.offset), bytes.data(), bytes.size());
    complete_receive(head.id, head.announced != 0, bytes.size());
}

void gloo_pair::on_arrival(std::uint32_t value, std::uint64_t bytes)
{
    const std::uint32_t id = arrival_value::id(value);
    if (bound_.knows(id))
        bound_.on_arrival(id);
    else
        complete_receive(id, arrival_value::announced(value), bytes);
}

void gloo_pair::complete_receive(std::uint32_t id, bool announced, std::uint64_t bytes)
{
    const auto found = receives_.find(id);
    if (found == receives_.end()) {
        fail_connection("wrote " + std::to_string(bytes) + " bytes that nobody receives");
        return;
    }
    gloo_buffer *buffer = found->second.buffer;
    const std::uint64_t slot = found->second.slot;
    receives_.erase(found);
    if (!announced) // it shows by itself
        if (const auto owed = unannounced_.find(slot); owed != unannounced_.end() && --owed->second == 0)
            unannounced_.erase(owed);
    buffer->on_received(peer_rank_);
}

} // namespace mrc::gloo_adapter
