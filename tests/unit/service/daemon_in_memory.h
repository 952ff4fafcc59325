// SPDX-License-Identifier: Apache-2.0
// A daemon without kernel programs, sockets or threads: sessions, peers, controller and worker are the real ones, on
// tables of ordinary memory. Two of them have a wire between them that loses nothing.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "datapath/worker.h"
#include "kernel/host_tables.h"
#include "service/config/config.h"
#include "service/control/control_service.h"
#include "service/peer_directory.h"
#include "service/sessions/session_state.h"
#include "service/srv6_fabric.h"
#include "service/transition_log.h"
#include "service/worker_crew.h"

namespace mrc::test
{

// Ends the process when the condition does not hold.
void demand(bool condition, const char *what);

class daemon_in_memory
{
public:
    explicit daemon_in_memory(unsigned leaf);
    daemon_in_memory(const daemon_in_memory &) = delete;
    daemon_in_memory &operator=(const daemon_in_memory &) = delete;

    [[nodiscard]] service::session_resources resources();
    [[nodiscard]] mrc_ip address() const { return rules_.address_of(rules_.self()); }
    [[nodiscard]] datapath::worker &worker() const { return workers_.first(); }
    // Of each user, for sessions to come.
    [[nodiscard]] service::limit_options &limits() { return config_.limits; }
    // Queue pairs that anybody has.
    [[nodiscard]] std::size_t qps_in_use() const;
    [[nodiscard]] const mrc_qp_row &row_of(std::uint32_t qpn) const { return tables_.qps[MRC_QPN_ROW(qpn)]; }
    // By their sessions.
    [[nodiscard]] const std::map<std::uint32_t, mrc_client_row> &clients() const { return clients_.rows; }
    [[nodiscard]] const std::map<std::uint32_t, mrc_qp_in_use> &queue_pairs_in_use() const
    {
        return clients_.queue_pairs;
    }
    [[nodiscard]] const std::vector<mrc_event_row> &events() const { return events_; }
    [[nodiscard]] const kernel::host_tables &tables() const { return tables_; }
    void take_notes() { control_.take_notes(); }
    // The only one that there is.
    [[nodiscard]] protocol::plane_mask enabled() const { return workers_.ports(0).local.enabled; }
    void lose_port() { workers_.ports(0).local.up = {}; }
    // Hands what has been sent to the other daemon; false when there was nothing.
    bool deliver_to(daemon_in_memory &other);

private:
    class wire final : public datapath::transmit_engine
    {
    public:
        struct frame {
            std::uint32_t path;
            std::vector<std::byte> bytes; // inner packet
        };
        [[nodiscard]] std::string_view name() const override { return "wire"; }
        [[nodiscard]] bool ready() override { return frames.size() < most_frames; }
        [[nodiscard]] std::span<std::byte> reserve(std::uint32_t) override { return room_; }
        void commit(const datapath::departure &packet) override;
        void flush() override {}
        [[nodiscard]] std::size_t queued() const override { return 0; }
        [[nodiscard]] datapath::transmit_counters counters() const override { return {}; }

        std::deque<frame> frames;

    private:
        static constexpr std::size_t most_frames = 256;
        std::array<std::byte, 8192> room_{};
    };
    struct any_peers final : kernel::peer_rows {
        [[nodiscard]] bool set_peer(const mrc_ip &, const mrc_peer_row &) override { return true; }
        void remove_peer(const mrc_ip &) override {}
        void set_peer_planes(const mrc_ip &, std::uint8_t) override {}
        bool set_paths(std::uint32_t, const mrc_paths_in_use &) override { return true; }
        void remove_paths(std::uint32_t) override {}
    };
    struct any_clients final : kernel::client_rows {
        [[nodiscard]] bool set_client(std::uint32_t session, const mrc_client_row &client) override
        {
            rows[session] = client;
            return true;
        }
        void remove_client(std::uint32_t session) override { rows.erase(session); }
        bool set_queue_pair(std::uint32_t row, const mrc_qp_in_use &qp) override
        {
            queue_pairs[row] = qp;
            return true;
        }
        void remove_queue_pair(std::uint32_t row) override { queue_pairs.erase(row); }

        std::map<std::uint32_t, mrc_client_row> rows;
        std::map<std::uint32_t, mrc_qp_in_use> queue_pairs;
    };
    struct no_ports final : service::port_controls {
        [[nodiscard]] datapath::transmit_counters transmitted(unsigned) const override { return {}; }
        [[nodiscard]] std::uint64_t socket_drops() const override { return 0; }
        [[nodiscard]] service::ports_view view() const override { return {}; }
        void enable(protocol::plane_mask) override {}
    };

    service::worker_crew &with_worker();
    void take(const wire::frame &frame);

    service::daemon_config config_;
    service::srv6_fabric rules_;
    kernel::host_tables tables_;
    any_peers rows_;
    any_clients clients_;
    no_ports ports_;
    wire wire_;
    std::vector<std::unique_ptr<kernel::xsk_socket_pair>> sockets_; // none
    datapath::shared_path_states states_{tables_.paths};
    service::worker_crew workers_{1, 0};
    service::peer_directory peers_;
    std::vector<mrc_event_row> events_;
    service::transition_log log_{{.planes = 1,
                                  .write = [](auto, const auto &, const auto *) {},
                                  .keep = [this](const mrc_event_row &event) { events_.push_back(event); },
                                  .sole_host = [](std::uint32_t) { return mrc_ip{}; }}};
    service::control_service control_;
    service::adoptions adoptions_{nullptr};
    std::vector<std::byte> frame_;
};

// Runs both workers until nothing moves any more, for at most so many rounds.
void run(daemon_in_memory &a, daemon_in_memory &b, unsigned rounds);

} // namespace mrc::test
