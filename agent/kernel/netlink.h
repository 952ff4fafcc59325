// SPDX-License-Identifier: Apache-2.0
// rtnetlink: requests with their answers, and notifications of groups. Messages and attributes are libmnl's; here is
// what it leaves to its callers. See netlink(7), rtnetlink(7).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

namespace mrc::kernel
{

// An RTM_* message; valid during the call.
using netlink_handler = std::function<void(const nlmsghdr &)>;

// The fixed header in front of the attributes; nullptr: the message is shorter.
template <class Header>
[[nodiscard]] const Header *header_of(const nlmsghdr &message)
{
    return mnl_nlmsg_get_payload_len(&message) < sizeof(Header)
               ? nullptr
               : static_cast<const Header *>(mnl_nlmsg_get_payload(&message));
}

// Calls `handler` for each attribute behind a fixed header of `header_bytes`.
void for_each_attribute(const nlmsghdr &message, std::size_t header_bytes,
                        const std::function<void(std::uint16_t type, std::span<const std::byte> value)> &handler);

// A request under construction: fixed header, then attributes. What does not fit throws std::length_error.
class netlink_request
{
public:
    template <class Header>
    netlink_request(std::uint16_t type, unsigned flags, const Header &header)
        : netlink_request{type, flags, std::as_bytes(std::span{&header, 1})}
    {
    }
    netlink_request(const netlink_request &) = delete; // message_ points into it
    netlink_request &operator=(const netlink_request &) = delete;
    ~netlink_request() = default;

    void add(std::uint16_t type, std::span<const std::byte> value);
    // What is added until end_nest stands inside an attribute of this type, behind a fixed header where it has one.
    [[nodiscard]] nlattr *begin_nest(std::uint16_t type, std::span<const std::byte> header = {});
    void end_nest(nlattr *nest) { mnl_attr_nest_end(message_, nest); }
    // Under this sequence number.
    [[nodiscard]] const nlmsghdr &message(std::uint32_t sequence);

private:
    static constexpr std::size_t room_bytes = 1024; // the longest request makes a veth pair: some 150

    netlink_request(std::uint16_t type, unsigned flags, std::span<const std::byte> header);
    void add_header(std::span<const std::byte> header);

    alignas(nlmsghdr) std::array<std::byte, room_bytes> room_;
    nlmsghdr *message_;
};

class netlink_socket
{
public:
    // Of the calling thread's network namespace. Throws std::system_error.
    explicit netlink_socket(std::initializer_list<rtnetlink_groups> groups = {});

    [[nodiscard]] int fd() const { return mnl_socket_get_fd(socket_.get()); }

    // Hands over what has arrived, without waiting. no_buffer_space: notifications were lost.
    [[nodiscard]] std::error_code receive_pending(const netlink_handler &handler);
    // Sends a request and hands over its answers up to the last one. interrupted: the dump is inconsistent.
    [[nodiscard]] std::error_code call(netlink_request &request, const netlink_handler &handler);

private:
    struct closer {
        void operator()(mnl_socket *socket) const { mnl_socket_close(socket); }
    };

    [[nodiscard]] std::error_code receive(int flags, std::span<const std::byte> &datagram);

    std::unique_ptr<mnl_socket, closer> socket_;
    std::uint32_t sequence_ = 0;
    std::vector<std::byte> buffer_;
};

} // namespace mrc::kernel
