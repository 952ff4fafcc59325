// SPDX-License-Identifier: Apache-2.0
// Any bytes, as a packet to a host in the middle of a transfer: through the frame parser to whoever receives it, the
// QP, the path group or the port status. Input as frame_parser_fuzz's; what must hold: live_pair.h.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/frame_codec.h"
#include "fuzz_input.h"
#include "live_pair.h"
#include "right_packet.h"

namespace
{

// Four planes of three paths, PSNs from 1 on (as the test vectors have them), and some writes under way.
constexpr std::uint8_t setting[] = {3, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 64, 3, 11, 0, 1};
constexpr std::uint8_t traffic[] = {
    0x00, 0x11, 0x07, 0xFF, 0x2A, // a write with an immediate, one without, and back
    0x00, 0x01, 0x07, 0xFF, 0x80, 0x11, 0x04, 0x00, 0x2B, 0x02, 0x20, 0x82, 0x20, 0x04, 0x05, 0x00, 0x04, 0x02, 0x00,
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return -1;
    std::vector<std::byte> packet(size - 1);
    std::ranges::transform(data + 1, data + size, packet.begin(), [](std::uint8_t byte) { return std::byte{byte}; });
    mrc::fuzz::make_right(packet, data[0]);
    const bool trimmed = (data[0] & mrc::fuzz::mode_trimmed) != 0;
    const auto parsed = mrc::codec::decode(packet, trimmed);
    if (!parsed)
        return 0;
    mrc::fuzz::fuzz_input configuration{setting};
    mrc::fuzz::live_pair pair{configuration};
    mrc::fuzz::fuzz_input commands{traffic};
    while (!commands.empty())
        pair.step(commands);
    pair.inject(parsed->content, parsed->payload, parsed->entropy, trimmed);
    return 0;
}
