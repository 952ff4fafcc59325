// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/port_status.h"

#include <algorithm>

namespace mrc::protocol
{

namespace
{

// Ids count round within 14 bits here, in more elsewhere: near ones compare the same.
constexpr int unused_id_bits = 2;
constexpr duration second = std::chrono::seconds{1};

} // namespace

port_status::port_status(const port_status_config &config, const path_group &paths)
    : config_{config}, paths_{paths}, all_{(1u << paths.planes()) - 1}, peer_{all_}, announced_{all_},
      last_id_{static_cast<std::uint16_t>(port_status_ids.first + config.first % port_status_ids.size())},
      id_{last_id_}, limit_{second / config.rate, config.burst}
{
}

plane_mask port_status::planes_of(std::uint32_t mask) const
{
    return plane_mask{mask >> config_.mask_base} & all_;
}

// Planes in turn, so that a repetition does not depend on the path that failed.
std::optional<path_choice> port_status::next_path(plane_mask allowed)
{
    for (const plane_mask among : {allowed & paths_.good_planes(), allowed}) {
        for (unsigned step = 0; step < paths_.planes(); ++step) {
            const unsigned turn = turn_ + step;
            const plane_index plane{static_cast<std::uint8_t>(turn % paths_.planes())};
            if (!among.has(plane))
                continue;
            turn_ = turn + 1;
            return paths_.path(paths_.active_slot(plane, turn / paths_.planes() % paths_.active_per_plane()));
        }
    }
    return std::nullopt;
}

std::optional<outgoing> port_status::send_update(instant now)
{
    const plane_mask lost{~peer_.bits()};
    const bool is_last = sent_ + 1 == config_.attempts && !(paths_.usable() & lost).empty();
    const auto where = next_path(paths_.usable() & (is_last ? lost : peer_));
    due_ = now + config_.retry;
    ++sent_;
    if (!where)
        return std::nullopt;
    ++counters_.updates_sent;
    endpoint_request_packet request;
    request.request_id = id_;
    request.operation = MRC_EP_PORT_STATUS_UPDATE;
    request.port_status_mask = wire_mask(announced_);
    request.tx_timestamp = wire_timestamp(now);
    return outgoing{request, {}, where->entropy, where->index, MRC_DSCP_CONTROL, MRC_ECN_NOT_ECT};
}

path_index port_status::path_for_answer(path_index came)
{
    if (paths_.slot_at(came))
        return came;
    const auto other = next_path(paths_.usable() & peer_);
    return other ? other->index : came;
}

outgoing port_status::send_reply(const reply &to)
{
    endpoint_response_packet response;
    response.request_id = to.request_id;
    response.operation = MRC_EP_PORT_STATUS_UPDATE;
    response.tx_timestamp = to.tx_timestamp;
    return {response, {}, to.entropy, path_for_answer(to.path), MRC_DSCP_CONTROL, MRC_ECN_NOT_ECT};
}

instant port_status::forgotten_at() const
{
    const instant last = std::max(taken_at_, until_);
    return peer_ == all_ || last == never ? never : last + config_.forget;
}

void port_status::set_peer_ports(plane_mask ports)
{
    if (peer_ == ports)
        return;
    peer_ = ports;
    ++paths_.local().ways_changed;
}

std::optional<outgoing> port_status::next_packet(instant now)
{
    if (now >= forgotten_at())
        set_peer_ports(all_);
    if (!replies_.empty())
        return send_reply(replies_.pop());
    const plane_mask own = paths_.usable();
    if (!has_to_announce(now) || own.empty()) { // nobody to tell, or no way to
        step(update_event::cease);
        if (!own.empty())
            due_ = never;
        return std::nullopt;
    }
    if (own == announced_ && now < due_)
        return std::nullopt;
    if (update_ == update_state::announcing && own == announced_) {
        if (sent_ < config_.attempts)
            return send_update(now);
        step(update_event::give_up);
        owes_ = owes_ && now < until_;
        due_ = now + config_.refresh;
        return std::nullopt;
    }
    announced_ = own;
    owes_ = owes_ || announced_ != all_;
    id_ = issue_id();
    step(update_event::announce);
    sent_ = 0;
    return send_update(now);
}

instant port_status::next_deadline() const
{
    if (!replies_.empty())
        return instant::min();
    if (due_ == never || paths_.usable().empty())
        return forgotten_at();
    return std::min(has_to_announce(due_) ? due_ : until_, forgotten_at()); // at until_ it ceases
}

port_status::outcome port_status::on_request(const endpoint_request_packet &request, const arrival &how, instant now)
{
    call_();
    if (!limit_.take(now)) {
        ++counters_.limited;
        return outcome::limited;
    }
    const plane_mask named = planes_of(request.port_status_mask);
    if (named.empty()) {
        ++counters_.rejected_empty;
        return outcome::rejected;
    }
    // A response that finds no room is like one lost on the way: the peer repeats its update.
    (void)replies_.push({request.request_id, request.tx_timestamp, how.entropy, how.path});
    const bool older = taken_id_ && now - taken_at_ < config_.overtaken &&
                       static_cast<std::int16_t>((request.request_id - *taken_id_) << unused_id_bits) <= 0;
    if (older) {
        ++counters_.overtaken;
        return outcome::overtaken;
    }
    ++counters_.taken;
    set_peer_ports(named);
    taken_id_ = request.request_id;
    taken_at_ = now;
    return outcome::taken;
}

bool port_status::on_response(const endpoint_response_packet &response)
{
    if (update_ != update_state::announcing || response.request_id != id_) {
        ++counters_.rejected_response;
        return false;
    }
    call_();
    step(update_event::confirm);
    owes_ = announced_ != all_;
    due_ += config_.refresh;
    ++counters_.confirmed;
    return true;
}

} // namespace mrc::protocol
