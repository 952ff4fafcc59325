// SPDX-License-Identifier: Apache-2.0
// A host that speaks the RoCE-like baseline: every queue pair stays on the path that a hash gave it at the start.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "protocol/random_source.h"
#include "sim/engine.h"
#include "sim/flow_table.h"
#include "sim/roce_queue_pair.h"
#include "sim/transport_config.h"

namespace mrc::sim
{

class roce_host final : public attached_host
{
public:
    roce_host(unsigned index, engine &clock, flow_table &flows, const transport_config &transport);

    // Makes the two ends of a queue pair; returns the sender's queue. The path is drawn from `random`.
    static unsigned connect(roce_host &source, roce_host &target, protocol::random_source &random);

    void on_frame(const frame &arrived) override;
    void pump() override;
    void on_queue_pair_timer(unsigned queue) override;
    void on_path_group_timer(unsigned) override {}
    void on_carrier(unsigned, bool) override {}
    [[nodiscard]] bool post(unsigned queue, const message_part &part) override;

    [[nodiscard]] std::size_t queues() const { return queues_.size(); }
    [[nodiscard]] bool sends(unsigned queue) const { return queues_[queue]->sends; }
    [[nodiscard]] const roce_sender &sender(unsigned queue) const { return queues_[queue]->sender; }

private:
    struct queue_record {
        explicit queue_record(const roce_config &config) : sender{config} {}
        unsigned peer_host = 0;
        unsigned peer_queue = 0;
        unsigned plane = 0;
        unsigned spine = 0;
        bool sends = false;
        bool backlogged = false;
        picoseconds timer_at = no_time;
        roce_sender sender;
        roce_receiver receiver;
    };

    void add_queue(const queue_record &like);
    void backlog(unsigned queue);
    void serve_port(unsigned plane);
    void send(const queue_record &over, const roce_packet &packet, bool control);
    void receive(unsigned queue, const roce_packet &data, bool congested);
    void set_timer(unsigned queue);

    unsigned index_;
    engine &clock_;
    flow_table &flows_;
    roce_config config_;
    std::vector<std::unique_ptr<queue_record>> queues_;
    std::vector<std::deque<unsigned>> turns_; // by port: queue pairs that may send now
    bool pumping_ = false;
};

} // namespace mrc::sim
