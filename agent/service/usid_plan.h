// SPDX-License-Identifier: Apache-2.0
// A site's SRv6 plan: the locator block, and which switch or host has which uSID behind it. Whatever writes or reads a
// carrier in the agent asks this; the BPF programs are told the block's length and whole carriers.
//
//   uSID      16 bits, by a pattern of its role in which P is the plane, I the leaf's, spine's or downlink's number;
//             what fits no pattern is given switch by switch ([[usid]]). By default
//             spine 1PII; leaf 2PII, leaves from 256 on 3PII … 7PII; host 8PII, by its downlink, on its own leaf
//   block     16, 32, 48 or 64 bits (RFC 9800 section 4.1 requires 32 with uSIDs of 16, and allows others). A path
//             between two leaves takes four uSIDs, so four of 32 bits fit behind no block, and no block of more than 64
//             bits leaves room for four of 16
//   carrier   other leaf: block:leaf:spine:leaf:host; same leaf: block:leaf:host
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mrc/abi/maps.h"
#include "mrc/abi/srv6.h"
#include "protocol/types.h"
#include "service/address.h"

namespace mrc::service
{

// uSIDs of one role: bits that are always the same, and those that plane and number are put into, the highest first.
struct usid_pattern {
    std::uint16_t fixed = 0;
    std::uint16_t plane_mask = 0; // 0: the same uSIDs on all planes
    std::uint16_t index_mask = 0;

    friend bool operator==(usid_pattern, usid_pattern) = default;
    // How many numbers, and planes, there is room for; of planes without any bits all there may be.
    [[nodiscard]] std::uint32_t numbers() const;
    [[nodiscard]] std::uint32_t planes() const;
    [[nodiscard]] std::uint16_t usid(protocol::plane_index plane, std::uint32_t index) const;
};

// Four hexadecimal digits or sixteen bits, of which some may be P and I: "1PII", "00PPPIIIIIIIIIII". nullopt when it is
// neither.
[[nodiscard]] std::optional<usid_pattern> parse_usid_pattern(std::string_view text);
// By digits where these tell it.
[[nodiscard]] std::string to_text(usid_pattern pattern);

// Of one role: each pattern in turn has as many numbers as there is room for.
using usid_patterns = std::vector<usid_pattern>;
[[nodiscard]] std::uint32_t numbers_of(const usid_patterns &patterns);

// A switch whose uSID follows no pattern: a leaf or a spine.
struct given_usid {
    protocol::plane_index plane;
    std::optional<std::uint32_t> leaf;
    std::optional<std::uint32_t> spine;
    std::uint16_t usid = 0;
};

struct usid_options {
    ip_prefix block{{{0xfc, 0xbb, 0xbb, 0x00}}, 32};
    usid_patterns leaf{{.fixed = 0x2000, .plane_mask = 0x0F00, .index_mask = 0x00FF},
                       {.fixed = 0x3000, .plane_mask = 0x0F00, .index_mask = 0x00FF},
                       {.fixed = 0x4000, .plane_mask = 0x0F00, .index_mask = 0x00FF},
                       {.fixed = 0x5000, .plane_mask = 0x0F00, .index_mask = 0x00FF},
                       {.fixed = 0x6000, .plane_mask = 0x0F00, .index_mask = 0x00FF},
                       {.fixed = 0x7000, .plane_mask = 0x0F00, .index_mask = 0x00FF}};
    usid_patterns spine{{.fixed = 0x1000, .plane_mask = 0x0F00, .index_mask = 0x00FF}};
    usid_pattern host{.fixed = 0x8000, .plane_mask = 0x0F00, .index_mask = 0x00FF};
    std::vector<given_usid> given;
};

class usid_plan
{
public:
    // Numbers that no pattern has room for, and nobody gives one, get uSID 0: check() refuses such a fabric.
    explicit usid_plan(const usid_options &options = {});

    [[nodiscard]] const mrc_ip &block() const { return options_.block.address; }
    [[nodiscard]] std::uint8_t block_bytes() const { return static_cast<std::uint8_t>(options_.block.length / 8); }

    [[nodiscard]] std::uint16_t leaf(protocol::plane_index plane, std::uint32_t number) const;
    [[nodiscard]] std::uint16_t spine(protocol::plane_index plane, std::uint32_t number) const;
    [[nodiscard]] std::uint16_t host(protocol::plane_index plane, std::uint32_t downlink) const;
    // What the uSIDs of hosts on a plane have set beside those on plane 0.
    [[nodiscard]] std::uint16_t host_plane_bits(protocol::plane_index plane) const;

    // Which plane a leaf's uSID tells; nullopt: it is no leaf's, or the pattern has no plane.
    [[nodiscard]] std::optional<protocol::plane_index> plane_of_leaf(std::uint16_t usid) const;
    // Which of `count` spines of a plane it is.
    [[nodiscard]] std::optional<std::uint32_t> spine_of(protocol::plane_index plane, std::uint16_t usid,
                                                        std::uint32_t count) const;

    // The block with these uSIDs behind it, and zeros.
    [[nodiscard]] mrc_ip carrier(std::initializer_list<std::uint16_t> usids) const;
    [[nodiscard]] bool is_in_block(const mrc_carrier &carrier) const;

    struct shape {
        std::uint8_t planes = 1;
        std::uint32_t leaves = 1;
        std::uint32_t spines = 1;
        std::uint32_t hosts_per_leaf = 1;
    };
    // What is wrong with it for such a fabric: `key` is "leaf_usid" and the like. A leaf tells its uSIDs apart: those
    // of all switches of its plane, and of its own hosts.
    struct fault {
        std::string key;
        std::string text;
    };
    [[nodiscard]] std::optional<fault> check(const shape &fabric) const;

private:
    using given_numbers = std::map<std::pair<std::uint8_t, std::uint32_t>, std::uint16_t>;

    usid_options options_;
    given_numbers given_leaves_;
    given_numbers given_spines_;
};

} // namespace mrc::service
