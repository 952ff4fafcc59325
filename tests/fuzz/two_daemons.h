// SPDX-License-Identifier: Apache-2.0
// Two daemons without kernel programs, sockets or threads: sessions, peers, controller and worker are the real ones, on
// tables of ordinary memory, with a wire that loses nothing. They are made once a process; what one input leaves in
// them is a finding.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "datapath/worker.h"
#include "kernel/host_tables.h"
#include "service/config/config.h"
#include "service/control/control_service.h"
#include "service/fabric_rules.h"
#include "service/peer_directory.h"
#include "service/sessions/client_session.h"
#include "service/transition_log.h"
#include "session/session_protocol.h"

namespace mrc::fuzz
{

// Ends the process when the condition does not hold.
void demand(bool condition, const char *what);

class fake_daemon
{
public:
    explicit fake_daemon(unsigned leaf);
    fake_daemon(const fake_daemon &) = delete;
    fake_daemon &operator=(const fake_daemon &) = delete;

    [[nodiscard]] service::session_resources resources();
    [[nodiscard]] mrc_ip address() const { return rules_.address_of(rules_.self()); }
    [[nodiscard]] datapath::worker &worker() { return worker_; }
    // Queue pairs that anybody has.
    [[nodiscard]] std::size_t qps_in_use() const;
    void take_notes() { control_.take_notes(); }
    // Hands what has been sent to the other daemon; false when there was nothing.
    bool deliver_to(fake_daemon &other);

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
        [[nodiscard]] std::span<std::byte> reserve() override { return room_; }
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
    };
    struct no_ports final : service::port_controls {
        [[nodiscard]] datapath::transmit_counters transmitted() const override { return {}; }
        [[nodiscard]] std::uint64_t socket_drops() const override { return 0; }
        [[nodiscard]] service::ports_view view() const override { return {}; }
        void enable(protocol::plane_mask) override {}
    };

    void take(const wire::frame &frame);

    service::daemon_config config_;
    service::fabric_rules rules_;
    kernel::host_tables tables_;
    any_peers rows_;
    no_ports ports_;
    protocol::local_ports local_;
    wire wire_;
    std::vector<std::unique_ptr<kernel::xsk_socket_pair>> sockets_; // none
    service::peer_directory peers_;
    datapath::worker worker_;
    service::transition_log log_{1, [](auto, const auto &) {}};
    service::control_service control_;
    std::vector<std::byte> frame_;
};

// Runs both workers until nothing moves any more, for at most so many rounds.
void run(fake_daemon &a, fake_daemon &b, unsigned rounds);

// A client's end of a session: what it asks is served at once.
class fake_client
{
public:
    explicit fake_client(fake_daemon &daemon);

    struct reply {
        bool came = false;
        session::session_reply body;
        std::array<kernel::unique_fd, 4> fds;
        [[nodiscard]] bool done() const { return came && body.error == 0; }
    };
    // Any bytes, with a descriptor or without. No reply when the session has ended, or there is none yet.
    reply send(std::span<const std::byte> packet, int fd = -1);
    reply ask(const session::session_request &request, int fd = -1);
    [[nodiscard]] bool ended() const { return session_ == nullptr; }

private:
    kernel::unique_fd socket_;
    std::unique_ptr<service::client_session> session_;
};

// A client with one queue pair and one CQ for both queues of it.
struct fake_endpoint {
    fake_endpoint(fake_daemon &daemon, std::uint32_t depth);

    session::session_reply request(session::request_kind kind, int fd = -1, std::uint32_t number = 0);
    // Memory of this process at `at`: remote peers may write to it.
    std::uint32_t register_memory(const void *at, std::size_t bytes);
    std::uint32_t register_memfd(int fd, std::size_t bytes);
    bool modify(protocol::qp_state to, const fake_endpoint *peer = nullptr);

    fake_daemon &on;
    fake_client client;
    std::uint32_t pd = 0;
    session::qp_reply qp{};
    session::queue_pair_layout layout;
    kernel::mapping bells;
    kernel::mapping rings;
    kernel::mapping completions;
    session::ring_view<session::completion_entry> done;
};

void connect(fake_endpoint &a, fake_endpoint &b);

// The client that must not notice anything: each transfer is of other bytes, which arrive as they are.
class honest_pair
{
public:
    honest_pair(fake_daemon &a, fake_daemon &b);
    // Posts a message, and demands that it completes.
    void transfer(fake_daemon &a, fake_daemon &b);
    [[nodiscard]] std::uint32_t key_here() const { return source_key_; }
    [[nodiscard]] std::uint32_t key_there() const { return target_key_; }

private:
    static constexpr std::size_t size = 3000;
    fake_endpoint here_;
    fake_endpoint there_;
    std::vector<std::byte> source_;
    std::vector<std::byte> target_;
    std::uint32_t source_key_;
    std::uint32_t target_key_;
    std::uint8_t turn_ = 0;
    session::ring_view<session::send_entry> sends_;
};

// Descriptors that this process has open.
[[nodiscard]] std::size_t open_descriptors();
// Waits until so many are open again: threads of the daemon close what clients sent.
void await_descriptors(std::size_t count);

} // namespace mrc::fuzz
