// SPDX-License-Identifier: Apache-2.0
// The TCP connection beside a run: framed messages with JSON bodies, through the kernel's stack.
//
// frame: magic "MRCP" (4) | version (2) | kind (2) | body length (4), big endian | body: one JSON object
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "kernel/unique_fd.h"

namespace mrc::perf
{

inline constexpr std::uint16_t channel_version = 3;
inline constexpr std::chrono::seconds answer_limit{10};
inline constexpr std::chrono::milliseconds setup_limit_per_qp{50}; // beside it: several requests to a busy mrcd

enum class message_kind : std::uint16_t {
    hello = 1, // client → server: the plan and the client's side
    ready,     // server → client: the server's side; of further runs, that it is ready
    start,     // client → server: both sides are connected, a run begins
    placed,    // sender → receiver: messages completed, per queue pair
    consumed,  // receiver → sender: messages checked, which is credit
    interval,  // receiver → sender: one sample
    mark,      // client → server: a new phase of the stall clock begins
    stop,      // either: send no more
    done,      // sender → receiver: nothing comes any more; the sender's summary
    result,    // receiver → sender: everything is checked; the receiver's summary
    bye,       // client → server: all is said
    error,     // either: why the run ends
};

struct message {
    message_kind kind{};
    boost::json::object body;
};

class channel
{
public:
    explicit channel(kernel::unique_fd socket, std::string peer);
    // Throws perf_error with the reason when nobody answers.
    [[nodiscard]] static channel connect(const std::string &name, std::uint16_t port);

    void send(message_kind kind, const boost::json::object &body = {});
    // The same to a peer that may have gone: false when it has.
    bool try_send(message_kind kind, const boost::json::object &body);
    // The next message if one is there. Throws when the peer is gone, speaks something else, or reports an error.
    [[nodiscard]] std::optional<message> receive();
    // Waits for a message of this kind.
    [[nodiscard]] message expect(message_kind kind, std::chrono::milliseconds limit = answer_limit);
    // For peers that must be waited for without end: no keep-alive, no time-out of sent data.
    void wait_for_ever();

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] const std::string &peer() const { return peer_; }

private:
    [[nodiscard]] std::optional<message> take_frame();
    bool fill();

    kernel::unique_fd socket_;
    std::string peer_;
    std::vector<std::uint8_t> received_;
};

class listener
{
public:
    explicit listener(std::uint16_t port);
    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] int fd() const { return socket_.get(); }
    // A connection if one waits.
    [[nodiscard]] std::optional<channel> accept();

private:
    kernel::unique_fd socket_;
    std::uint16_t port_ = 0;
};

// Reads members of a message, so that a malformed one names what is wrong with it.
[[nodiscard]] std::uint64_t member(const boost::json::object &object, const char *name, std::uint64_t low = 0,
                                   std::uint64_t high = UINT64_MAX);
[[nodiscard]] bool flag_member(const boost::json::object &object, const char *name);
[[nodiscard]] std::string text_member(const boost::json::object &object, const char *name);

} // namespace mrc::perf
