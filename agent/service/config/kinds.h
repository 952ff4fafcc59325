// SPDX-License-Identifier: Apache-2.0
// The kinds of values that only mrcd's options take: names and addresses.
#pragma once

#include <string>
#include <string_view>

#include "options/kinds.h"
#include "service/config/config.h"
#include <fmt/format.h>

namespace mrc::service::kinds
{

// 1 to 64 characters that are safe in a path and in a metric's label.
struct instance_name {
    [[nodiscard]] static std::string allowed() { return "1 to 64 of A-Z a-z 0-9 _ - and ., not starting with . or -"; }
    [[nodiscard]] static bool read(const options::value &value, std::string &to);
    [[nodiscard]] static std::string write(const std::string &from) { return options::toml_string(from); }
};

// Of a user or a group of the system.
struct account_name {
    std::string_view of;

    [[nodiscard]] std::string allowed() const
    {
        return fmt::format("a {}'s name: 1 to 32 of A-Z a-z 0-9 _ - and ., not starting with -", of);
    }
    [[nodiscard]] static bool read(const options::value &value, std::string &to);
    [[nodiscard]] static std::string write(const std::string &from) { return options::toml_string(from); }
};

// Of a host, as programs may use it.
struct host_name {
    [[nodiscard]] static std::string allowed()
    {
        return "a host name: up to 253 bytes, labels of 1 to 63 of A-Z a-z 0-9 and - with dots between them, the last "
               "no "
               "number, not localhost";
    }
    [[nodiscard]] static bool read(const options::value &value, std::string &to);
    [[nodiscard]] static std::string write(const std::string &from) { return options::toml_string(from); }
};

struct ipv6_address {
    [[nodiscard]] static std::string allowed() { return "an IPv6 address"; }
    [[nodiscard]] static bool read(const options::value &value, mrc_ip &to);
    [[nodiscard]] static std::string write(const mrc_ip &from) { return options::toml_string(to_text(from)); }
};

struct ipv6_prefix {
    unsigned shortest;
    unsigned longest;

    [[nodiscard]] std::string allowed() const;
    [[nodiscard]] bool read(const options::value &value, ip_prefix &to) const;
    [[nodiscard]] static std::string write(const ip_prefix &from) { return options::toml_string(to_text(from)); }
};

// A locator block, behind which uSIDs stand at groups of an address.
struct locator_block {
    [[nodiscard]] static std::string allowed() { return "an IPv6 prefix of length 16, 32, 48 or 64"; }
    [[nodiscard]] static bool read(const options::value &value, ip_prefix &to);
    [[nodiscard]] static std::string write(const ip_prefix &from) { return options::toml_string(to_text(from)); }
};

struct usid_length {
    [[nodiscard]] static std::string allowed()
    {
        return "16: a path takes four uSIDs, and four of 32 bits fit behind no block";
    }
    [[nodiscard]] static bool read(const options::value &value, std::uint32_t &to);
    [[nodiscard]] static std::string write(std::uint32_t from) { return fmt::format("{}", from); }
};

struct usid_number {
    [[nodiscard]] static std::string allowed() { return "0x0001 to 0xffff"; }
    [[nodiscard]] static bool read(const options::value &value, std::uint16_t &to)
    {
        return options::whole{1, UINT16_MAX}.read(value, to);
    }
    [[nodiscard]] static std::string write(std::uint16_t from) { return fmt::format("{:#06x}", from); }
};

struct usid_pattern_text {
    [[nodiscard]] static std::string allowed()
    {
        return "4 hexadecimal digits or 16 bits, with P for the plane and I for the number";
    }
    [[nodiscard]] static bool read(const options::value &value, usid_pattern &to);
    [[nodiscard]] static std::string write(const usid_pattern &from) { return options::toml_string(to_text(from)); }
};

struct ipv4_prefix {
    unsigned shortest;
    unsigned longest;

    [[nodiscard]] std::string allowed() const;
    // Kept as ::ffff:a.b.c.d, with the length counted from there.
    [[nodiscard]] bool read(const options::value &value, ip_prefix &to) const;
    [[nodiscard]] static std::string write(const ip_prefix &from) { return options::toml_string(to_text(from)); }
};

// Of a host on one plane, in either family. Link-local addresses are the same on every link, and name no host.
struct plane_address {
    [[nodiscard]] static std::string allowed() { return "a unicast IPv6 or IPv4 address, not a link-local one"; }
    [[nodiscard]] static bool read(const options::value &value, mrc_ip &to);
    [[nodiscard]] static std::string write(const mrc_ip &from) { return options::toml_string(to_text(from)); }
};

struct gateway {
    [[nodiscard]] static std::string allowed() { return "\"auto\", a unicast IPv6 address or a unicast MAC address"; }
    [[nodiscard]] static bool read(const options::value &value, gateway_option &to);
    [[nodiscard]] static std::string write(const gateway_option &from);
};

struct affinity {
    [[nodiscard]] static std::string allowed()
    {
        return fmt::format(R"("auto", "none" or CPUs as "0-3,8", each below {})", kernel::most_cpus);
    }
    [[nodiscard]] static bool read(const options::value &value, affinity_option &to);
    [[nodiscard]] static std::string write(const affinity_option &from);
};

} // namespace mrc::service::kinds
