// SPDX-License-Identifier: Apache-2.0
// SHA-256 of bytes that come piece by piece.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <openssl/evp.h>

namespace mrc::perf
{

class sha256
{
public:
    sha256();
    void add(std::span<const std::byte> bytes);
    // 64 hexadecimal digits; nothing can be added afterwards.
    [[nodiscard]] std::string digest();

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context_;
};

} // namespace mrc::perf
