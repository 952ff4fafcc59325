// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/who_may.h"

#include <array>
#include <stdexcept>
#include <string_view>

#include <boost/beast/http/field.hpp>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/random.h>

namespace mrc::view
{

namespace
{

using boost::beast::http::field;

std::string_view text_in(const tools::http::request &asked, auto name)
{
    const auto found = asked.find(name);
    return found == asked.end() ? std::string_view{} : std::string_view{found->value().data(), found->value().size()};
}

// Without the port.
std::string_view name_in(std::string_view host)
{
    if (host.starts_with('['))
        return host.substr(0, host.find(']') + 1);
    return host.substr(0, host.find(':'));
}

bool is_loopback_name(std::string_view host)
{
    const std::string_view name = name_in(host);
    return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

bool is_loopback(const boost::asio::ip::address &address)
{
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        return make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback();
    return address.is_loopback();
}

bool is_token(std::string_view given, const std::string &token)
{
    return given.size() == token.size() && CRYPTO_memcmp(given.data(), token.data(), token.size()) == 0;
}

} // namespace

std::string make_token()
{
    std::array<unsigned char, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error{"the kernel gives no random numbers"};
    std::string token;
    for (const unsigned char byte : bytes)
        token += fmt::format("{:02x}", byte);
    return token;
}

std::optional<std::string> host_refusal(const tools::http::request &asked,
                                        const boost::asio::ip::tcp::endpoint &listening)
{
    if (!is_loopback(listening.address()) || is_loopback_name(text_in(asked, field::host)))
        return std::nullopt;
    return "this server is on the loopback: allowed as its name are localhost, 127.0.0.1 and [::1]";
}

std::optional<std::string> order_refusal(const tools::http::request &asked, const boost::asio::ip::tcp::endpoint &from,
                                         const std::string &token)
{
    const std::string_view host = text_in(asked, field::host);
    if (!is_loopback(from.address()) || !is_loopback_name(host))
        return "the lab is changed from this machine only, by way of the loopback";
    const std::string_view origin = text_in(asked, field::origin);
    if (!origin.empty() && origin != fmt::format("http://{}", host))
        return "a page of another origin may not change the lab";
    if (!is_token(text_in(asked, "X-MRC-Token"), token))
        return "the header X-MRC-Token is not that of this server's page: load the page again";
    return std::nullopt;
}

} // namespace mrc::view
