// SPDX-License-Identifier: Apache-2.0
//
// Frames for tests of BPF programs: layers are appended front to back, length fields are filled in when the frame is
// built. Written for tests only and independent of the agent's codec, so that the two can disagree.
//
//   const frame f = packet_builder()
//                       .ethernet({.source = a, .destination = b})
//                       .ipv6({.destination = ip6("fcbb:bb00:2000::"), .dscp = MRC_DSCP_TRIMMABLE, .ecn =
//                       MRC_ECN_ECT0}) .ipv6({.destination = ip6("fd6d:7263::1:1"), .next_header = IPPROTO_UDP})
//                       .udp({.source = 0xC0DE, .destination = 4791})
//                       .fill(256)
//                       .build();
#ifndef MRC_TESTS_BPF_PACKET_BUILDER_H
#define MRC_TESTS_BPF_PACKET_BUILDER_H

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "mrc/abi/wire.h"

namespace mrc::test
{

using packet_bytes = std::vector<std::uint8_t>;
using mac_address = std::array<std::uint8_t, 6>;
using ip6_address = std::array<std::uint8_t, 16>;
using ip4_address = std::array<std::uint8_t, 4>;

inline ip6_address ip6(const std::string &text)
{
    ip6_address address{};

    if (inet_pton(AF_INET6, text.c_str(), address.data()) != 1)
        throw std::invalid_argument("not an IPv6 address: " + text);
    return address;
}

inline ip4_address ip4(const std::string &text)
{
    ip4_address address{};

    if (inet_pton(AF_INET, text.c_str(), address.data()) != 1)
        throw std::invalid_argument("not an IPv4 address: " + text);
    return address;
}

struct ethernet_layer {
    mac_address destination{0x02, 0, 0, 0, 0, 0x01};
    mac_address source{0x02, 0, 0, 0, 0, 0x02};
    std::uint16_t type = 0x86DD;
};

struct ipv6_layer {
    ip6_address source{};
    ip6_address destination{};
    std::uint8_t next_header = IPPROTO_IPV6;
    std::uint8_t hop_limit = 64;
    std::uint8_t dscp = MRC_DSCP_NO_TRIM;
    std::uint8_t ecn = MRC_ECN_NOT_ECT;
    std::uint32_t flow_label = 0;
    std::uint8_t version = 6;
};

struct ipv4_layer {
    ip4_address source{};
    ip4_address destination{};
    std::uint8_t protocol = IPPROTO_UDP;
    std::uint8_t ttl = 64;
    std::uint8_t dscp = MRC_DSCP_NO_TRIM;
    std::uint8_t ecn = MRC_ECN_NOT_ECT;
    std::uint16_t fragment = 0;   // flags and offset, in units of 8 bytes
    std::size_t option_words = 0; // of 4 bytes, all "no operation"
};

// An IPv6 extension header of `words` times 8 bytes (4 for AH), filled with zeros behind its length.
struct extension_layer {
    std::uint8_t kind = IPPROTO_DSTOPTS;
    std::uint8_t next_header = IPPROTO_UDP;
    std::size_t words = 1;
    std::uint16_t fragment = 0; // fragment header: offset in bytes, and the flag
};

struct udp_layer {
    std::uint16_t source = 0;
    std::uint16_t destination = MRC_UDP_PORT_ROCE;
    std::uint16_t checksum = 0;
};

struct bth_layer {
    std::uint8_t opcode = MRC_OP_WRITE_ONLY;
    std::uint32_t dqp = 0;
    std::uint32_t psn = 0;
    std::uint8_t control = 0;
    std::uint8_t flags = 0;
};

// RFC 1071, over whole 16-bit words.
inline std::uint16_t internet_checksum(std::span<const std::uint8_t> bytes)
{
    std::uint32_t sum = 0;

    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
        sum += static_cast<std::uint32_t>(bytes[i] << 8 | bytes[i + 1]);
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

class packet_builder
{
public:
    packet_builder &ethernet(const ethernet_layer &layer = {})
    {
        bytes(layer.destination);
        bytes(layer.source);
        return be16(layer.type);
    }

    packet_builder &ipv6(const ipv6_layer &layer)
    {
        const auto tclass = static_cast<std::uint32_t>(MRC_TCLASS(layer.dscp, layer.ecn));

        lengths_.push_back({.field = frame_.size() + 4, .counted_from = frame_.size() + 40});
        be32(static_cast<std::uint32_t>(layer.version) << 28 | tclass << 20 | (layer.flow_label & 0xFFFFF));
        be16(0);
        byte(layer.next_header);
        byte(layer.hop_limit);
        bytes(layer.source);
        return bytes(layer.destination);
    }

    packet_builder &ipv4(const ipv4_layer &layer)
    {
        const std::size_t start = frame_.size();

        lengths_.push_back({.field = start + 2, .counted_from = start});
        ipv4_headers_.push_back({.start = start, .bytes = 20 + 4 * layer.option_words});
        byte(static_cast<std::uint8_t>(0x45 + layer.option_words));
        byte(MRC_TCLASS(layer.dscp, layer.ecn));
        be16(0);
        be16(0);
        be16(layer.fragment);
        byte(layer.ttl);
        byte(layer.protocol);
        be16(0);
        bytes(layer.source);
        bytes(layer.destination);
        frame_.insert(frame_.end(), 4 * layer.option_words, 1);
        return *this;
    }

    packet_builder &extension(const extension_layer &layer)
    {
        const std::size_t start = frame_.size();
        const bool fragment = layer.kind == IPPROTO_FRAGMENT;

        byte(layer.next_header);
        byte(fragment ? 0 : static_cast<std::uint8_t>(layer.words - (layer.kind == IPPROTO_AH ? 2 : 1)));
        be16(layer.fragment);
        frame_.resize(start + (layer.kind == IPPROTO_AH ? 4 : 8) * layer.words);
        return *this;
    }

    packet_builder &udp(const udp_layer &layer)
    {
        const std::size_t start = frame_.size();

        be16(layer.source);
        be16(layer.destination);
        lengths_.push_back({.field = start + 4, .counted_from = start});
        be16(0);
        return be16(layer.checksum);
    }

    packet_builder &bth(const bth_layer &layer)
    {
        byte(layer.opcode);
        byte(layer.flags);
        be16(MRC_PKEY_DEFAULT);
        be32(layer.dqp & MRC_QPN_MASK);
        return be32(static_cast<std::uint32_t>(layer.control) << 24 | (layer.psn & MRC_PSN_MASK));
    }

    packet_builder &byte(std::uint8_t value)
    {
        frame_.push_back(value);
        return *this;
    }

    packet_builder &be16(std::uint16_t value)
    {
        byte(static_cast<std::uint8_t>(value >> 8));
        return byte(static_cast<std::uint8_t>(value));
    }

    packet_builder &be32(std::uint32_t value)
    {
        be16(static_cast<std::uint16_t>(value >> 16));
        return be16(static_cast<std::uint16_t>(value));
    }

    packet_builder &bytes(std::span<const std::uint8_t> values)
    {
        for (const std::uint8_t value : values)
            frame_.push_back(value);
        return *this;
    }

    // Any packed wire structure of wire.h.
    template <typename header>
    packet_builder &object(const header &value)
    {
        std::array<std::uint8_t, sizeof(header)> raw{};

        std::memcpy(raw.data(), &value, sizeof(value));
        return bytes(raw);
    }

    // `count` bytes of a counting pattern, so that a byte out of place is seen.
    packet_builder &fill(std::size_t count)
    {
        for (std::size_t i = 0; i < count; i++)
            byte(static_cast<std::uint8_t>(i * 7 + 1));
        return *this;
    }

    // Fills up to a frame of `total` bytes, Ethernet header included.
    packet_builder &fill_to(std::size_t total) { return fill(total > frame_.size() ? total - frame_.size() : 0); }

    [[nodiscard]] packet_bytes build() const
    {
        packet_bytes out = frame_;

        for (const auto &length : lengths_)
            put16(out, length.field, static_cast<std::uint16_t>(out.size() - length.counted_from));
        for (const auto &header : ipv4_headers_)
            put16(out, header.start + 10, internet_checksum(std::span(out).subspan(header.start, header.bytes)));
        return out;
    }

private:
    struct length_field {
        std::size_t field;
        std::size_t counted_from;
    };
    struct ipv4_header {
        std::size_t start;
        std::size_t bytes;
    };

    static void put16(packet_bytes &out, std::size_t at, std::uint16_t value)
    {
        out[at] = static_cast<std::uint8_t>(value >> 8);
        out[at + 1] = static_cast<std::uint8_t>(value);
    }

    packet_bytes frame_;
    std::vector<length_field> lengths_;
    std::vector<ipv4_header> ipv4_headers_;
};

} // namespace mrc::test

#endif
