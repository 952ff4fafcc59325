// SPDX-License-Identifier: Apache-2.0
// The address that a name and a port stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <netdb.h>

namespace mrc::collectives
{

struct free_addresses {
    void operator()(addrinfo *list) const { ::freeaddrinfo(list); }
};
using address_list = std::unique_ptr<addrinfo, free_addresses>;

// At least one; throws std::runtime_error.
inline address_list resolve(const std::string &host, std::uint16_t port)
{
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo *found = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found); error != 0)
        throw std::runtime_error{fmt::format("'{}' is no address of a host: {}", host, ::gai_strerror(error))};
    return address_list{found};
}

} // namespace mrc::collectives
