// SPDX-License-Identifier: Apache-2.0
// Time per packet of the frame codec, for the lab's data packet (3,072 bytes of payload) and a SACK. The argument is
// how many different frames are worked on in turn: 1 stays in the first-level cache, 4096 (13 MB) does not.
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "codec/frame_codec.h"
#include "run_benchmarks.h"

namespace
{

using namespace mrc::codec;
using namespace mrc::protocol;

constexpr std::size_t frame_room = 4096;

packet data_of(std::uint32_t payload_bytes)
{
    return data_packet{.opcode = MRC_OP_WRITE_MIDDLE,
                       .destination = qpn{0x123},
                       .sequence = psn{0x10},
                       .tx_timestamp = 0xBEEF,
                       .va = 0x1122334455667788,
                       .rkey = 0xCAFE0001,
                       .message_bytes = 1 << 30,
                       .immediate = std::nullopt,
                       .payload_bytes = payload_bytes};
}

const encode_options options{.ip = {.source = {{0xfd, 0x6d, 0x72, 0x63, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                                    .destination = {{0xfd, 0x6d, 0x72, 0x63, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1}}},
                             .dscp = MRC_DSCP_TRIMMABLE,
                             .ecn = MRC_ECN_ECT0,
                             .entropy = ev{0x0003C0DE}};

std::vector<std::byte> random_frames(std::size_t count)
{
    std::mt19937_64 random{1};
    std::vector<std::byte> frames(count * frame_room);
    for (auto &byte : frames)
        byte = static_cast<std::byte>(random());
    return frames;
}

void encode_packets(benchmark::State &state, const packet &content)
{
    const auto count = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> frames = random_frames(count);
    for (std::size_t next = 0; state.KeepRunning(); next = next + 1 < count ? next + 1 : 0) {
        const std::span<std::byte> frame{frames.data() + next * frame_room, frame_room};
        benchmark::DoNotOptimize(encode(content, options, frame));
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(encoded_size(content, false)));
}

void decode_packets(benchmark::State &state, const packet &content)
{
    const auto count = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> frames = random_frames(count);
    const std::size_t size = encoded_size(content, false);
    for (std::size_t i = 0; i < count; i++) {
        if (!encode(content, options, {frames.data() + i * frame_room, frame_room}))
            return state.SkipWithError("encode refused");
    }
    for (std::size_t next = 0; state.KeepRunning(); next = next + 1 < count ? next + 1 : 0) {
        auto result = decode({frames.data() + next * frame_room, size}, false);
        if (!result)
            return state.SkipWithError("decode refused");
        benchmark::DoNotOptimize(result);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

BENCHMARK_CAPTURE(encode_packets, data_3072, data_of(3072))->Arg(1)->Arg(4096);
BENCHMARK_CAPTURE(decode_packets, data_3072, data_of(3072))->Arg(1)->Arg(4096);
BENCHMARK_CAPTURE(encode_packets, sack, sack_packet{})->Arg(1);
BENCHMARK_CAPTURE(decode_packets, sack, sack_packet{})->Arg(1);

} // namespace

int main(int argc, char **argv)
{
    return run_benchmarks(argc, argv);
}
