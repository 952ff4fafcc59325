// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/sha256.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

sha256::sha256() : context_{::EVP_MD_CTX_new(), &::EVP_MD_CTX_free}
{
    if (!context_ || ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) != 1)
        throw perf_error{"OpenSSL has no SHA-256"};
}

void sha256::add(std::span<const std::byte> bytes)
{
    ::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string sha256::digest()
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    unsigned length = 0;
    ::EVP_DigestFinal_ex(context_.get(), raw.data(), &length);
    std::string text;
    for (unsigned i = 0; i < length; ++i)
        fmt::format_to(std::back_inserter(text), "{:02x}", raw[i]);
    return text;
}

} // namespace mrc::perf
