// SPDX-License-Identifier: Apache-2.0
// A client that speaks the daemon's protocol without libmrc, so that nothing keeps it from lying.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "protocol/qp_state.h"
#include "session/session_protocol.h"
#include "session/work_ring.h"

// Ends the program when the condition does not hold.
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: not so: %s (errno %m)\n", __FILE__, __LINE__, #condition);                    \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

namespace mrc::hostile
{

using random_engine = std::mt19937_64;

// Of two hosts: MRC_INSTANCE=attacked,other
struct targets {
    std::string attacked;
    std::string other;
};

struct raw_reply {
    bool came = false; // else the daemon has closed the session
    session::session_reply body;
    std::vector<kernel::unique_fd> fds;
    [[nodiscard]] bool done() const { return came && body.error == 0; }
};

class raw_session
{
public:
    explicit raw_session(const std::string &path);

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] bool send(const session::session_request &request, int fd = -1) const;
    // Ends the program when the daemon neither answers nor closes within 20 s: it hangs.
    [[nodiscard]] raw_reply receive() const;
    raw_reply ask(const session::session_request &request, int fd = -1) const;
    raw_reply ask(session::request_kind kind, std::uint32_t number = 0) const;

private:
    kernel::unique_fd socket_;
};

struct raw_region {
    std::uint32_t key = 0;
    std::uint64_t address = 0;
};

struct raw_end {
    std::uint32_t qpn = 0;
    mrc_ip host{};
};

// As the daemon has made it, on this process' side.
struct raw_queue_pair {
    raw_queue_pair() = default;
    explicit raw_queue_pair(const raw_reply &made);

    session::qp_reply numbers{};
    session::queue_pair_layout layout;
    kernel::mapping rings;
    session::ring_view<session::send_entry> sends;
};

// A session with one queue pair and one completion queue. What it cannot have ends the program.
class raw_client
{
public:
    // `before_step` is called before each request: that is where a client may die.
    template <typename Step>
    raw_client(const std::string &path, std::uint32_t depth, Step before_step) : session{path}, depth_{depth}
    {
        before_step();
        say_hello();
        before_step();
        open_events();
        before_step();
        allocate_pd();
        before_step();
        create_cq();
        before_step();
        create_qp();
    }
    raw_client(const std::string &path, std::uint32_t depth) : raw_client(path, depth, [] {}) {}

    [[nodiscard]] raw_region register_process(void *at, std::size_t bytes) const;
    [[nodiscard]] raw_reply register_file(int fd, std::size_t bytes, std::uint64_t offset = 0) const;
    [[nodiscard]] bool modify(std::uint32_t qpn, protocol::qp_state to, const raw_end *peer = nullptr) const;
    [[nodiscard]] bool modify(protocol::qp_state to, const raw_client *peer = nullptr) const;
    [[nodiscard]] raw_end end_of(const raw_queue_pair &pair) const
    {
        return {.qpn = pair.numbers.qpn, .host = host_.address};
    }
    [[nodiscard]] const session::host_reply &host() const { return host_; }

    // Beside the first, on the same completion queue.
    [[nodiscard]] raw_reply create_another_qp() const;
    // False when the ring is full.
    bool post(const session::send_entry &entry);
    void ring() { ring(first); }
    void ring(const raw_queue_pair &which);
    // Waits for the next completion; its status. Ends the program when none comes within 20 s.
    [[nodiscard]] std::uint8_t next_status();

    raw_session session;
    raw_queue_pair first;
    kernel::mapping completions;
    kernel::mapping bells;
    kernel::unique_fd doorbell;

private:
    void say_hello();
    void open_events();
    void allocate_pd();
    void create_cq();
    void create_qp();

    std::uint32_t depth_;
    std::uint32_t events_ = 0;
    std::uint32_t pd_ = 0;
    std::uint32_t cq_ = 0;
    session::host_reply host_{};
    kernel::unique_fd pipe_;
    session::ring_view<session::completion_entry> done_;
};

void connect(const raw_client &a, const raw_client &b);

} // namespace mrc::hostile
