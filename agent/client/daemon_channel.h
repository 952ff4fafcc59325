// SPDX-License-Identifier: Apache-2.0
// One process's session with one mrcd: what the verbs device and the MRC objects ask of the daemon. Thread-safe: the
// requests of several threads take turns on the socket. Errors are errno values with the daemon's words.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "mrc/abi/ip.h"

namespace mrc::client
{

struct session_error {
    int code = 0; // errno
    std::string text;
};
template <typename T>
using result = std::expected<T, session_error>;

// A daemon that can be spoken to: /run/mrc/<instance>/mrcd.sock.
struct daemon_instance {
    std::string name;
    std::string socket;    // empty: the name is none
    bool is_named = false; // by MRC_INSTANCE: that it cannot be reached is an error
};

// Those that MRC_INSTANCE (a comma list) names, whether they are there or not; without it the one inside this process,
// if there is one, else all that are found, in name order.
[[nodiscard]] std::vector<daemon_instance> find_instances();

struct host_port {
    bool up = false;      // carrier, neighbour and administrative state all permit packets
    bool enabled = false; // administrative state
    std::uint32_t mtu = 0;
    std::uint64_t bits_per_second = 0; // 0: unknown
};

struct host_description {
    std::string instance;
    std::vector<mrc_ip> addresses;   // the MRC addresses; the primary IPv6 first, then IPv4 if there is one
    std::uint32_t payload_bytes = 0; // per packet
    std::vector<host_port> ports;    // one per plane
    std::uint64_t guid = 0;          // EUI-64 of a port's MAC, network order
    std::uint32_t max_qps = 0;       // limits of one client
    std::uint32_t max_regions = 0;
    std::uint64_t max_region_bytes = 0;
    std::uint32_t max_cqs = 0;
    std::uint32_t max_cq_entries = 0;    // per CQ
    std::uint32_t max_work_requests = 0; // per queue
    std::uint8_t max_mpr = 32;           // of one QP, units of 128 PSNs
    std::uint16_t max_wimm = 4096;       // of one QP
};

struct memory_keys {
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
};

// What is in a result, turned into something else; std::expected::transform, which g++ 12 has not.
template <typename T, typename Change>
[[nodiscard]] auto map(const result<T> &from, Change change) -> result<std::invoke_result_t<Change, const T &>>
{
    if (!from)
        return std::unexpected{from.error()};
    if constexpr (std::is_void_v<std::invoke_result_t<Change, const T &>>) {
        change(*from);
        return {};
    } else {
        return change(*from);
    }
}

class daemon_channel
{
public:
    [[nodiscard]] static result<std::shared_ptr<daemon_channel>> open(const daemon_instance &where);
    virtual ~daemon_channel() = default;

    // As the daemon describes itself now (ports change).
    [[nodiscard]] virtual result<host_description> describe() = 0;

    // Protection domains have numbers of their own per session; 0 is none.
    [[nodiscard]] virtual result<std::uint32_t> allocate_pd() = 0;
    virtual result<void> deallocate_pd(std::uint32_t pd) = 0; // EBUSY while regions or QPs use it

    // Any readable (and, for LOCAL_WRITE, writable) memory of this process. `access` as ibv_access_flags; `iova` is the
    // address that peers name. EFAULT, EINVAL, ENOMEM over a limit, EACCES when the process is not dumpable.
    [[nodiscard]] virtual result<memory_keys> register_memory(std::uint32_t pd, void *address, std::uint64_t length,
                                                              std::uint64_t iova, std::uint32_t access) = 0;
    virtual result<void> deregister_memory(std::uint32_t lkey) = 0;

    // Readable when an asynchronous event waits (port up, port down) and when the daemon has gone.
    [[nodiscard]] virtual int event_fd() const = 0;
    virtual void clear_events() {} // reads what is there: the descriptor only says that describe() has news
    [[nodiscard]] virtual bool gone() const = 0;
};

} // namespace mrc::client
