// SPDX-License-Identifier: Apache-2.0
#include "wire_image.h"

#include <algorithm>

#include "codec/frame_codec.h"

namespace mrc::sim
{

using namespace protocol;

namespace
{

constexpr mrc_ip address(std::uint8_t last)
{
    mrc_ip result{};
    result.bytes[0] = 0xFD;
    result.bytes[15] = last;
    return result;
}

std::optional<wire_image::reading> parse(std::span<const std::byte> bytes, bool trimmed)
{
    const auto found = codec::decode(bytes, trimmed);
    if (!found)
        return std::nullopt;
    return wire_image::reading{found->content, found->entropy, found->payload};
}

} // namespace

bool wire_image::write(const packet &content, std::span<const std::byte> payload, ev entropy, std::uint8_t dscp)
{
    header_bytes_ = codec::payload_offset(content, false);
    bytes_.assign(codec::encoded_size(content, false), std::byte{0});
    std::ranges::copy(payload, bytes_.begin() + static_cast<std::ptrdiff_t>(header_bytes_));
    const codec::encode_options how{
        .ip = {.source = address(1), .destination = address(2)}, .dscp = dscp, .entropy = entropy};
    return codec::encode(content, how, bytes_).has_value();
}

void wire_image::damage(random_source &random)
{
    const auto bits = static_cast<std::uint32_t>(bytes_.size() * 8);
    const std::uint32_t length = 1 + random.below(32);
    const std::uint32_t first = random.below(bits - length + 1);
    for (std::uint32_t bit = first; bit < first + length; ++bit)
        if (bit == first || bit + 1 == first + length || random.below(2) == 0)
            bytes_[bit / 8] ^= std::byte{1} << bit % 8;
}

std::optional<wire_image::reading> wire_image::read() const
{
    return parse(bytes_, false);
}

std::optional<wire_image::reading> wire_image::read_trimmed(std::size_t kept) const
{
    return parse(std::span{bytes_}.first(std::min(kept, header_bytes_)), true);
}

} // namespace mrc::sim
