// SPDX-License-Identifier: Apache-2.0
// A pair's address, which Gloo carries through its store.
#pragma once

#include <string>
#include <vector>

#include <gloo/transport/address.h>

#include "messaging/peer_address.h"

namespace mrc::gloo_adapter
{

class gloo_address : public gloo::transport::Address
{
public:
    gloo_address() = default;
    explicit gloo_address(const messaging::peer_address &address) : address_{address} {}

    [[nodiscard]] std::string str() const override { return address_.text(); }
    [[nodiscard]] std::vector<char> bytes() const override
    {
        const auto encoded = address_.encode();
        return {encoded.begin(), encoded.end()};
    }

private:
    messaging::peer_address address_;
};
static_assert(messaging::peer_address::encoded_bytes <= gloo::transport::Address::kMaxByteSize);

} // namespace mrc::gloo_adapter
