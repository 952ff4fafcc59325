// SPDX-License-Identifier: Apache-2.0
// rtnetlink: requests with their answers, and notifications of groups. See netlink(7), rtnetlink(7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <span>
#include <system_error>
#include <vector>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace mrc::kernel
{

struct netlink_message {
    std::uint16_t type = 0; // RTM_*
    std::span<const std::byte> payload;
};
using netlink_handler = std::function<void(const netlink_message &)>;

struct netlink_attribute {
    std::uint16_t type = 0;
    std::span<const std::byte> value;
};

// The fixed header in front of the attributes; nullopt-like false when the message is shorter.
template <class Header>
[[nodiscard]] bool read_header(const netlink_message &message, Header &header)
{
    if (message.payload.size() < sizeof header)
        return false;
    std::memcpy(&header, message.payload.data(), sizeof header);
    return true;
}

// Calls `handler` for each attribute behind a fixed header of `header_bytes`.
void for_each_attribute(const netlink_message &message, std::size_t header_bytes,
                        const std::function<void(const netlink_attribute &)> &handler);

// A request under construction: fixed header, then attributes.
class netlink_request
{
public:
    netlink_request(std::uint16_t type, std::uint16_t flags, std::span<const std::byte> header);

    void add(std::uint16_t type, std::span<const std::byte> value);
    // The finished message, under this sequence number.
    [[nodiscard]] std::span<const std::byte> bytes(std::uint32_t sequence);

private:
    void append(std::span<const std::byte> value);

    std::uint16_t type_;
    std::uint16_t flags_;
    std::vector<std::byte> bytes_;
};

class netlink_socket
{
public:
    // Of the calling thread's network namespace. Throws std::system_error.
    explicit netlink_socket(std::initializer_list<rtnetlink_groups> groups = {});
    ~netlink_socket();
    netlink_socket(const netlink_socket &) = delete;
    netlink_socket &operator=(const netlink_socket &) = delete;

    [[nodiscard]] int fd() const { return fd_; }

    // Hands over what has arrived, without waiting. no_buffer_space: notifications were lost.
    [[nodiscard]] std::error_code receive_pending(const netlink_handler &handler);
    // Sends a request and hands over its answers up to the last one. interrupted: the dump is inconsistent.
    [[nodiscard]] std::error_code call(netlink_request &request, const netlink_handler &handler);

private:
    [[nodiscard]] std::error_code receive(int flags, std::size_t &length);

    int fd_ = -1;
    std::uint32_t sequence_ = 0;
    std::vector<std::byte> buffer_;
};

} // namespace mrc::kernel
