// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/identity.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "codec/byte_order.h"

namespace mrc::setup
{

namespace
{

constexpr std::array<std::uint8_t, 6> prefix{0xfd, 0x6d, 0x72, 0x63, 0x5e, 0x70};
constexpr std::uint8_t overlay = 0xff; // in the plane's place
constexpr std::size_t plane_at = 7;
constexpr std::size_t host_at = 8;
constexpr std::size_t id_digits = 32;
constexpr std::string_view purpose = "mrc setup 1 "; // other programs' hashes of the same id are others

mrc_ip address_of(std::uint64_t host, std::uint8_t network)
{
    mrc_ip address{};
    std::ranges::copy(prefix, address.bytes);
    address.bytes[plane_at] = network;
    codec::store_be(reinterpret_cast<std::byte *>(address.bytes) + host_at, host);
    return address;
}

} // namespace

std::expected<std::uint64_t, std::string> host_of(std::string_view machine_id)
{
    while (machine_id.ends_with('\n'))
        machine_id.remove_suffix(1);
    if (machine_id.size() != id_digits ||
        !std::ranges::all_of(machine_id, [](unsigned char digit) { return std::isxdigit(digit) != 0; }))
        return std::unexpected{fmt::format("is no machine-id of {} hexadecimal digits: systemd-machine-id-setup makes "
                                           "one",
                                           id_digits)};
    const std::string hashed = std::string{purpose} + std::string{machine_id};
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    if (::EVP_Digest(hashed.data(), hashed.size(), digest.data(), nullptr, ::EVP_sha256(), nullptr) != 1)
        return std::unexpected{std::string{"cannot be hashed: OpenSSL has no SHA-256"}};
    const auto host = codec::load_be<std::uint64_t>(reinterpret_cast<const std::byte *>(digest.data()));
    return host == 0 ? 1 : host;
}

mrc_ip plane_address(std::uint64_t host, std::uint8_t plane)
{
    return address_of(host, plane);
}

mrc_ip common_address(std::uint64_t host)
{
    return address_of(host, overlay);
}

bool is_of_setup(const mrc_ip &address)
{
    return std::equal(prefix.begin(), prefix.end(), address.bytes);
}

} // namespace mrc::setup
