// SPDX-License-Identifier: Apache-2.0
// Endpoint requests that a controller asks for (mrc_ctl_ep_batch_send_wait): EV probes and port status updates, many at
// a time, each on the path that it names whatever its state.
//
// A time stamp is explained by a transmission when it is that one's, or between that one's and the arrival: then the
// responder has put it forward by its service time, which the RTT leaves out.
// Batches take turns, request by request, and share one rate: thousands of requests do not flood the fabric. Patience
// begins with the transmission, so those that wait lose nothing of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/packet.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/port_status.h"
#include "protocol/rate_limit.h"
#include "protocol/request_ids.h"
#include "protocol/transition_table.h"
#include "protocol/types.h"

namespace mrc::protocol
{

// EV probes that one agent asks or answers, each by a limit of its own: as many a second as a few peers send.
inline constexpr duration endpoint_interval = std::chrono::microseconds{200};
inline constexpr unsigned endpoint_burst = 64;

struct endpoint_batch_config {
    duration interval = endpoint_interval; // between any two transmissions
    unsigned burst = endpoint_burst;
    duration retry = std::chrono::milliseconds{1};
    std::size_t most_requests = 4096; // of all batches
    std::uint16_t first_id = batch_probe_ids.first;
};

enum class request_state : std::uint8_t { waiting, asked, answered, timed_out };
enum class request_event : std::uint8_t { ask, answer, expire };

// An answer in any other state is a duplicate, or late: it is refused.
inline constexpr auto request_transitions = [] {
    using from = request_state;
    using on = request_event;
    using to = request_state;
    return transition_table<request_state, request_event, 4, 3>{
        // It is its batch's turn, and the rate allows it: sent with a fresh id, unless this host cannot use the path's
        // port, which changes nothing else.
        {from::waiting, on::ask, to::asked},
        // An update, `retry` has passed, fewer than `attempts` sent: sent again (D11).
        {from::asked, on::ask, to::asked},
        // By its id, from its host, with a time stamp that one of its transmissions explains, within the patience; RTT
        // of that transmission.
        {from::asked, on::answer, to::answered},
        // `patience` has passed since the first transmission, or the batch is cancelled.
        {from::asked, on::expire, to::timed_out},
    };
}();

struct endpoint_request {
    static constexpr unsigned attempts = 3; // of updates

    port_status *host = nullptr; // whom it goes to; outlives the batch
    path_choice path;
    plane_mask ports; // update: what the host is told

    request_state state = request_state::waiting;
    std::uint8_t sent = 0; // transmissions
    std::uint16_t request_id = 0;
    std::array<instant, attempts> sent_at{};
    // When answered:
    duration rtt{0};
    bool service_time = false; // was left out
    plane_index arrived_on{};

    // What the table does not know changes nothing.
    void step(request_event event) { state = request_transitions.next(state, event).value_or(state); }
};

struct endpoint_batch {
    std::uint8_t operation = MRC_EP_EV_PROBE; // enum mrc_endpoint_op
    std::uint8_t dscp = 0;
    duration patience{0};
    std::vector<endpoint_request> requests;
    std::vector<std::uint16_t> answered; // of requests, in order of arrival

    // endpoint_batches'.
    std::size_t next = 0; // first that is waiting
    std::size_t open = 0; // all before are answered or timed out
    instant next_retry = never;

    [[nodiscard]] bool finished() const { return open == requests.size(); }
};

class endpoint_batches
{
public:
    explicit endpoint_batches(const endpoint_batch_config &config);

    // The batch, with all its requests waiting, is the caller's, and may not move until it is finished or cancelled.
    // False: too many requests are under way.
    [[nodiscard]] bool start(endpoint_batch &batch);
    void cancel(endpoint_batch &batch);

    [[nodiscard]] bool idle() const { return batches_.empty(); }

    struct batch_packet {
        outgoing packet;
        const endpoint_batch *batch = nullptr;
        std::size_t request = 0; // of it
    };
    [[nodiscard]] std::optional<batch_packet> next_packet(instant now);
    // A batch without a request that waits or is asked, once. To be called until null after what has arrived was given
    // to on_response, and packets were taken.
    [[nodiscard]] endpoint_batch *next_finished(instant now);
    [[nodiscard]] instant next_deadline() const;

    // False when no request waits for such an answer.
    [[nodiscard]] bool on_response(const port_status &from, const endpoint_response_packet &response,
                                   const arrival &how);

private:
    struct owner {
        endpoint_batch *batch = nullptr; // null: the id is free
        std::uint16_t request = 0;
    };

    [[nodiscard]] owner &owner_of(std::uint16_t id) { return owners_[id - batch_probe_ids.first]; }
    [[nodiscard]] std::optional<std::size_t> due_request(endpoint_batch &batch, instant now) const;
    [[nodiscard]] static std::optional<std::size_t> due_retry(endpoint_batch &batch, duration retry, instant now);
    void ask(endpoint_batch &batch, std::size_t index, instant now);
    [[nodiscard]] static batch_packet transmit(const endpoint_batch &batch, std::size_t index, instant now);
    void settle(endpoint_request &request, std::uint8_t operation, request_event how);
    void expire(endpoint_batch &batch, instant now);
    void leave(std::size_t position);
    [[nodiscard]] owner find(const port_status &from, std::uint16_t id);

    endpoint_batch_config config_;
    rate_limit limit_;
    std::vector<endpoint_batch *> batches_; // with something to do
    std::size_t turn_ = 0;
    std::size_t requests_ = 0;  // of all batches
    std::vector<owner> owners_; // of batch_probe_ids
    std::uint16_t last_id_;
};

} // namespace mrc::protocol
