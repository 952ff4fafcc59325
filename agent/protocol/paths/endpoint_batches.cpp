// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/endpoint_batches.h"

#include <algorithm>

namespace mrc::protocol
{

namespace
{

struct measured {
    duration rtt{0};
    bool service_time = false;
};

// By the transmission whose stamp is nearest to the reflected one.
std::optional<measured> measure(const endpoint_request &request, std::uint16_t stamp, instant arrived)
{
    std::optional<measured> best;
    duration least = duration::max();
    for (std::size_t i = 0; i < request.sent; ++i) {
        const duration passed = arrived - request.sent_at[i];
        const auto ticks = static_cast<std::uint16_t>(stamp - wire_timestamp(request.sent_at[i]));
        const duration advanced{std::int64_t{ticks} << MRC_TS_TICK_SHIFT};
        if (passed < duration{0} || advanced > passed || advanced >= least)
            continue;
        least = advanced;
        best = measured{passed - advanced, ticks != 0};
    }
    return best;
}

bool is_update(const endpoint_batch &batch)
{
    return batch.operation == MRC_EP_PORT_STATUS_UPDATE;
}

} // namespace

endpoint_batches::endpoint_batches(const endpoint_batch_config &config)
    : config_{config}, limit_{config.interval, config.burst}, owners_(batch_probe_ids.size()), last_id_{config.first_id}
{
    // An id is free for every request, and as many rest before they are used again.
    config_.most_requests = std::min<std::size_t>(config.most_requests, batch_probe_ids.size() / 2);
}

bool endpoint_batches::start(endpoint_batch &batch)
{
    if (batch.requests.size() > config_.most_requests - requests_)
        return false;
    requests_ += batch.requests.size();
    batch.answered.reserve(batch.requests.size());
    batches_.push_back(&batch);
    return true;
}

void endpoint_batches::cancel(endpoint_batch &batch)
{
    const auto at = std::ranges::find(batches_, &batch);
    if (at == batches_.end())
        return;
    for (endpoint_request &request : batch.requests)
        if (request.state == request_state::asked)
            settle(request, batch.operation, request_event::expire);
    leave(static_cast<std::size_t>(at - batches_.begin()));
}

void endpoint_batches::leave(std::size_t position)
{
    requests_ -= batches_[position]->requests.size();
    batches_.erase(batches_.begin() + static_cast<std::ptrdiff_t>(position));
}

// It is answered or timed out: its id is free again.
void endpoint_batches::settle(endpoint_request &request, std::uint8_t operation, request_event how)
{
    request.step(how);
    if (operation == MRC_EP_EV_PROBE)
        owner_of(request.request_id) = {};
}

void endpoint_batches::ask(endpoint_batch &batch, std::size_t index, instant now)
{
    endpoint_request &request = batch.requests[index];
    const bool first = request.state == request_state::waiting;
    request.step(request_event::ask);
    if (first) {
        ++batch.next;
        if (is_update(batch)) {
            request.request_id = request.host->issue_id();
        } else {
            do
                last_id_ = batch_probe_ids.after(last_id_);
            while (owner_of(last_id_).batch != nullptr);
            request.request_id = last_id_;
            owner_of(last_id_) = {&batch, static_cast<std::uint16_t>(index)};
        }
    }
    request.sent_at[request.sent++] = now;
    if (is_update(batch))
        batch.next_retry = std::min(batch.next_retry, now + config_.retry);
}

endpoint_batches::batch_packet endpoint_batches::transmit(const endpoint_batch &batch, std::size_t index, instant now)
{
    const endpoint_request &request = batch.requests[index];
    endpoint_request_packet content;
    content.request_id = request.request_id;
    content.operation = batch.operation;
    content.port_status_mask = is_update(batch) ? request.host->wire_mask(request.ports) : 0;
    content.tx_timestamp = wire_timestamp(now);
    return {.packet = {.content = content,
                       .payload = {},
                       .entropy = request.path.entropy,
                       .path = request.path.index,
                       .dscp = batch.dscp,
                       .ecn = MRC_ECN_NOT_ECT,
                       .dscp_as_is = true},
            .batch = &batch,
            .request = index};
}

std::optional<std::size_t> endpoint_batches::due_retry(endpoint_batch &batch, duration retry, instant now)
{
    if (now < batch.next_retry)
        return std::nullopt;
    batch.next_retry = never;
    for (std::size_t i = batch.open; i < batch.next; ++i) {
        const endpoint_request &request = batch.requests[i];
        if (request.state != request_state::asked || request.sent == endpoint_request::attempts)
            continue;
        const instant due = request.sent_at[request.sent - 1U] + retry;
        batch.next_retry = std::min(batch.next_retry, due);
        if (due <= now)
            return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> endpoint_batches::due_request(endpoint_batch &batch, instant now) const
{
    if (const auto again = due_retry(batch, config_.retry, now))
        return again;
    return batch.next < batch.requests.size() ? std::optional{batch.next} : std::nullopt;
}

std::optional<endpoint_batches::batch_packet> endpoint_batches::next_packet(instant now)
{
    for (std::size_t step = 0; step < batches_.size(); ++step) {
        const std::size_t position = (turn_ + step) % batches_.size();
        endpoint_batch &batch = *batches_[position];
        expire(batch, now);
        while (const auto index = due_request(batch, now)) {
            const endpoint_request &request = batch.requests[*index];
            const bool usable = request.host->paths().usable().has(request.path.plane);
            if (usable && !limit_.take(now))
                return std::nullopt;
            ask(batch, *index, now);
            if (!usable)
                continue;
            turn_ = position + 1;
            return transmit(batch, *index, now);
        }
    }
    return std::nullopt;
}

// Patience is the same for all of a batch: it ends in the order in which they were sent.
void endpoint_batches::expire(endpoint_batch &batch, instant now)
{
    for (; batch.open < batch.next; ++batch.open) {
        endpoint_request &request = batch.requests[batch.open];
        if (request.state != request_state::asked)
            continue;
        if (now < request.sent_at[0] + batch.patience)
            return;
        settle(request, batch.operation, request_event::expire);
    }
}

endpoint_batch *endpoint_batches::next_finished(instant now)
{
    for (std::size_t position = 0; position < batches_.size(); ++position) {
        endpoint_batch *const batch = batches_[position];
        expire(*batch, now);
        if (!batch->finished())
            continue;
        leave(position);
        return batch;
    }
    return nullptr;
}

instant endpoint_batches::next_deadline() const
{
    instant first = never;
    for (const endpoint_batch *batch : batches_) {
        if (batch->next < batch->requests.size())
            first = std::min(first, limit_.next());
        if (batch->next_retry != never)
            first = std::min(first, std::max(batch->next_retry, limit_.next()));
        if (batch->open < batch->next)
            first = std::min(first, batch->requests[batch->open].sent_at[0] + batch->patience);
    }
    return first;
}

endpoint_batches::owner endpoint_batches::find(const port_status &from, std::uint16_t id)
{
    if (batch_probe_ids.contains(id))
        return owner_of(id);
    // Ids of updates are their host's: there is no table of them, and rarely more than a few wait.
    for (endpoint_batch *batch : batches_)
        for (std::size_t i = batch->open; is_update(*batch) && i < batch->next; ++i)
            if (batch->requests[i].request_id == id && batch->requests[i].host == &from)
                return {batch, static_cast<std::uint16_t>(i)};
    return {};
}

bool endpoint_batches::on_response(const port_status &from, const endpoint_response_packet &response,
                                   const arrival &how)
{
    const auto [batch, index] = find(from, response.request_id);
    if (batch == nullptr)
        return false;
    endpoint_request &request = batch->requests[index];
    if (request.host != &from || request.state != request_state::asked || how.at - request.sent_at[0] > batch->patience)
        return false;
    const auto found = measure(request, response.tx_timestamp, how.at);
    if (!found)
        return false;
    request.rtt = found->rtt;
    request.service_time = found->service_time;
    const auto slot = from.paths().slot_at(how.path);
    request.arrived_on = slot ? from.paths().path(*slot).plane : request.path.plane;
    settle(request, batch->operation, request_event::answer);
    batch->answered.push_back(index);
    return true;
}

} // namespace mrc::protocol
