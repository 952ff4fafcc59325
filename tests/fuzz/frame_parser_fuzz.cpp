// SPDX-License-Identifier: Apache-2.0
// Any bytes into the frame parser. Byte 0 of the input chooses how, the rest is the packet:
//   bit 0: the packet arrived in a trimmed class
//   bit 1: IP and UDP lengths are made right first, bit 2: the ICRC is made right first
// (without these two nearly every mutation would end at the same two checks).
//
// Holds for every input: nothing outside the bytes given is read (AddressSanitizer for our code, a guard page for
// ISA-L's assembly); an accepted packet encodes again, to a packet that decodes to the same values and re-encodes to
// the same bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include <sys/mman.h>

#include "codec/frame_codec.h"
#include "right_packet.h"

namespace
{

using namespace mrc::codec;
using namespace mrc::fuzz;

void require(bool condition, const char *what)
{
    if (condition)
        return;
    std::fputs("frame_parser_fuzz: ", stderr);
    std::fputs(what, stderr);
    std::fputs("\n", stderr);
    std::abort();
}

// Memory whose last byte is followed by an unmapped page.
class guarded_memory
{
public:
    guarded_memory()
    {
        void *const start = mmap(nullptr, capacity + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(start != MAP_FAILED, "mmap");
        end_ = static_cast<std::byte *>(start) + capacity;
        require(mprotect(end_, page, PROT_NONE) == 0, "mprotect");
    }

    [[nodiscard]] std::span<std::byte> last(std::size_t size) const { return {end_ - size, size}; }

    static constexpr std::size_t capacity = 1u << 17;

private:
    static constexpr std::size_t page = 4096;
    std::byte *end_ = nullptr;
};

bool same(std::span<const std::byte> a, std::span<const std::byte> b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// Empty when the packet cannot be sent as it is: the immediate of a trimmed packet may be gone.
std::vector<std::byte> encoded(const decoded &packet, bool trimmed)
{
    const encode_options options{.ip = {.source = packet.source, .destination = packet.destination},
                                 .dscp = packet.dscp,
                                 .ecn = packet.ecn,
                                 .entropy = packet.entropy};
    const bool ipv4 = is_ipv4_mapped(packet.source);
    std::vector<std::byte> out(encoded_size(packet.content, ipv4));
    if (!packet.payload.empty())
        std::memcpy(out.data() + payload_offset(packet.content, ipv4), packet.payload.data(), packet.payload.size());
    const auto size = encode(packet.content, options, out);
    if (!size) {
        require(trimmed && size.error() == codec_error::opcode, "an accepted packet does not encode");
        return {};
    }
    require(*size == out.size(), "encode and encoded_size disagree");
    return out;
}

void check(std::span<const std::byte> bytes, bool trimmed)
{
    const auto first = decode(bytes, trimmed);
    if (!first) {
        require(!text(first.error()).empty(), "an error without a text");
        return;
    }
    require(first->icrc_checked != trimmed, "the ICRC of a whole packet is checked, of a trimmed one not");
    require(first->payload.empty() || (first->payload.data() >= bytes.data() &&
                                       first->payload.data() + first->payload.size() <= bytes.data() + bytes.size()),
            "payload outside the packet");
    const std::vector<std::byte> again = encoded(*first, trimmed);
    if (again.empty())
        return;
    const auto second = decode(again, trimmed);
    require(second.has_value(), "an encoded packet does not decode");
    require(second->content == first->content, "content changes");
    require(second->entropy == first->entropy, "entropy changes");
    require(same(second->payload, first->payload), "payload changes");
    require(second->dscp == first->dscp && second->ecn == first->ecn, "traffic class changes");
    require(std::memcmp(&second->source, &first->source, sizeof first->source) == 0, "source changes");
    require(std::memcmp(&second->destination, &first->destination, sizeof first->source) == 0, "destination changes");
    require(encoded(*second, trimmed) == again, "the second encoding differs from the first");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static const guarded_memory memory;

    if (size == 0 || size > guarded_memory::capacity)
        return -1;
    const std::span<std::byte> packet = memory.last(size - 1);
    if (!packet.empty())
        std::memcpy(packet.data(), data + 1, packet.size());
    make_right(packet, data[0]);
    check(packet, (data[0] & mode_trimmed) != 0);

    // The same on the heap, where AddressSanitizer guards both ends.
    const std::vector<std::byte> copy(packet.begin(), packet.end());
    check(copy, (data[0] & mode_trimmed) != 0);
    return 0;
}
