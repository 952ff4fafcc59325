// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/pcapng.h"

#include <cstring>

namespace mrc::ctl
{

namespace
{

constexpr std::uint32_t section_block = 0x0A0D0D0A;
constexpr std::uint32_t interface_block = 1;
constexpr std::uint32_t packet_block = 6;
constexpr std::uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr std::uint16_t link_type_ethernet = 1;

enum option : std::uint16_t {
    opt_end = 0,
    opt_comment = 1,
    epb_flags = 2,
    if_name = 2,
    if_description = 3,
    shb_userappl = 4,
    if_tsresol = 9,
};

template <typename T>
void append(std::string &to, T value)
{
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    to.append(bytes, sizeof(value));
}

void append_padded(std::string &to, std::string_view bytes)
{
    to.append(bytes);
    to.append((4 - bytes.size() % 4) % 4, '\0');
}

void append_option(std::string &to, option code, std::string_view value)
{
    append(to, static_cast<std::uint16_t>(code));
    append(to, static_cast<std::uint16_t>(value.size()));
    append_padded(to, value);
}

// Of a block: its type, and its length at both ends, which is known when it is complete.
class block
{
public:
    block(std::string &to, std::uint32_t type) : to_{to}, start_{to.size()}
    {
        append(to_, type);
        append(to_, std::uint32_t{0});
    }
    block(const block &) = delete;
    block &operator=(const block &) = delete;
    ~block()
    {
        append_option(to_, opt_end, {});
        const auto bytes = static_cast<std::uint32_t>(to_.size() - start_ + sizeof(std::uint32_t));
        std::memcpy(to_.data() + start_ + sizeof(std::uint32_t), &bytes, sizeof(bytes));
        append(to_, bytes);
    }

private:
    std::string &to_;
    std::size_t start_;
};

} // namespace

void append_section(std::string &to, std::string_view application)
{
    const block here{to, section_block};
    append(to, byte_order_magic);
    append(to, std::uint16_t{1}); // version 1.0
    append(to, std::uint16_t{0});
    append(to, std::int64_t{-1}); // length of the section: not told
    append_option(to, shb_userappl, application);
}

void append_interface(std::string &to, std::string_view name, std::string_view description, std::uint32_t snap_bytes)
{
    const block here{to, interface_block};
    append(to, link_type_ethernet);
    append(to, std::uint16_t{0});
    append(to, snap_bytes);
    append_option(to, if_name, name);
    append_option(to, if_description, description);
    append_option(to, if_tsresol, "\x09"); // 10^-9 s
}

void append_packet(std::string &to, const pcapng_packet &packet)
{
    const block here{to, packet_block};
    append(to, packet.interface);
    append(to, static_cast<std::uint32_t>(packet.time_ns >> 32));
    append(to, static_cast<std::uint32_t>(packet.time_ns));
    append(to, static_cast<std::uint32_t>(packet.bytes.size()));
    append(to, packet.length);
    append_padded(to, {reinterpret_cast<const char *>(packet.bytes.data()), packet.bytes.size()});
    std::string flags;
    append(flags, static_cast<std::uint32_t>(packet.direction));
    append_option(to, epb_flags, flags);
    append_option(to, opt_comment, packet.comment);
}

} // namespace mrc::ctl
