// SPDX-License-Identifier: Apache-2.0
#include "sim/roce_queue_pair.h"

#include <algorithm>

#include "sim/fabric.h"

namespace mrc::sim
{

void roce_sender::post(const message_part &part)
{
    const std::int64_t packets = (part.bytes + config_.payload - 1) / config_.payload;
    parts_.push_back({part, end_, packets});
    end_ += packets;
}

const roce_sender::posted &roce_sender::part_of(std::int64_t sequence)
{
    while (sequence < parts_[cursor_].first)
        --cursor_;
    while (sequence >= parts_[cursor_].first + parts_[cursor_].packets)
        ++cursor_;
    return parts_[cursor_];
}

std::optional<roce_packet> roce_sender::next_packet(picoseconds now)
{
    if (!may_send() || now < paced_until_)
        return std::nullopt;
    rate_.advance(now);
    const posted &each = part_of(next_);
    const auto offset = static_cast<std::uint32_t>((next_ - each.first) * config_.payload);
    roce_packet packet;
    packet.sequence = next_;
    packet.flow = each.part.flow;
    packet.place = std::uint64_t{each.part.message} << 32 | (each.part.offset + offset);
    packet.payload_bytes = std::min(config_.payload, each.part.bytes - offset);
    packet.ack_request = next_ + 1 == each.first + each.packets;
    if (unacked_ == next_)
        timer_at_ = now + config_.timeout;
    counters_.retransmits += next_ < highest_ ? 1 : 0;
    ++counters_.sent;
    ++next_;
    highest_ = std::max(highest_, next_);
    const std::uint32_t wire = packet.payload_bytes + data_overhead_bytes;
    if (config_.rate_control) {
        rate_.on_sent(wire);
        paced_until_ = std::max(now, paced_until_) + static_cast<picoseconds>(8000.0 / rate_.rate_gbps() * wire);
    }
    return packet;
}

void roce_sender::on_packet(const roce_packet &answer, picoseconds now)
{
    if (answer.kind == roce_kind::cnp) {
        ++counters_.notifications;
        if (config_.rate_control) {
            rate_.advance(now);
            rate_.on_notification(now);
        }
        return;
    }
    if (answer.sequence > unacked_) {
        unacked_ = std::min(answer.sequence, highest_);
        next_ = std::max(next_, unacked_);
        timer_at_ = now + config_.timeout;
        while (!parts_.empty() && parts_.front().first + parts_.front().packets <= unacked_) {
            completed_.push_back(parts_.front().part);
            parts_.pop_front();
            cursor_ -= cursor_ > 0 ? 1 : 0;
        }
    }
    if (answer.kind == roce_kind::nak) {
        ++counters_.naks;
        next_ = unacked_;
    }
}

void roce_sender::on_timer(picoseconds now)
{
    if (deadline() == no_time || now < deadline())
        return;
    ++counters_.timeouts;
    next_ = unacked_;
    timer_at_ = now + config_.timeout;
}

std::optional<message_part> roce_sender::next_completion()
{
    if (completed_.empty())
        return std::nullopt;
    const message_part done = completed_.front();
    completed_.pop_front();
    return done;
}

roce_receiver::reaction roce_receiver::on_data(const roce_packet &data, bool congested, picoseconds now)
{
    reaction result;
    if (congested && now - notified_at_ >= dcqcn::notification_interval) {
        notified_at_ = now;
        result.notify = true;
    }
    roce_packet answer;
    answer.kind = roce_kind::ack;
    if (data.sequence == expected_) {
        ++expected_;
        nak_sent_ = false;
        result.accepted = true;
        if (++unanswered_ < acks_every && !data.ack_request)
            return result;
    } else if (data.sequence > expected_) {
        if (nak_sent_)
            return result;
        nak_sent_ = true;
        answer.kind = roce_kind::nak;
    }
    unanswered_ = 0;
    answer.sequence = expected_;
    result.answer = answer;
    return result;
}

} // namespace mrc::sim
