// SPDX-License-Identifier: Apache-2.0
//
// raw_push, the prototype of sending without a copy: headers come from the slot and payload from the region, and
// nothing from behind it.
#include <algorithm>
#include <iterator>

#include "perf/raw/note.h"

#include "host_fixture.h"

#include "raw_push.skel.h"

namespace mrc::test
{
namespace
{

constexpr std::uint32_t way = 3;
constexpr std::uint32_t icrc_on_the_wire = 0x11223344;

class raw_push : public testing::Test
{
protected:
    void SetUp() override
    {
        if (!may_load_bpf())
            GTEST_SKIP() << "needs root to load BPF programs";
        skeleton_ = raw_push_bpf__open_and_load();
        ASSERT_NE(skeleton_, nullptr);
        mrc_port_row port{};
        port.flags = MRC_PORT_USABLE;
        port.mtu = 3400;
        port.address = to_ip(host_plane_address);
        std::ranges::copy(port_mac, std::begin(port.mac));
        update(skeleton_->maps.ports, host_port, port);
        update(skeleton_->maps.next_hops, host_port, next_hop_at(gateway_mac));
        mrc_path_row path{};
        path.carrier = to_ip(ip6("fcbb:bb00:2200:1201:2201:8203::"));
        path.host_usid_at = 10;
        path.state = MRC_PATH_GOOD;
        path.port = host_port;
        path.next_hop = host_port;
        update(skeleton_->maps.paths, way, path);
        const std::uint32_t loopback = 1;
        update(skeleton_->maps.tx_ports, host_port, loopback);
        region_.resize(sizeof(raw_region));
        for (std::size_t i = 0; i < region_.size(); ++i)
            region_[i] = static_cast<std::uint8_t>(i * 13 + i / 256);
        const std::uint32_t only = 0;
        ASSERT_EQ(bpf_map_update_elem(bpf_map__fd(skeleton_->maps.raw_region), &only, region_.data(), BPF_ANY), 0);
    }

    void TearDown() override { raw_push_bpf__destroy(skeleton_); }

    // One slot, sent.
    prog_run_result send(const raw_source &source, std::uint32_t length)
    {
        mrc_push_slot slot{.length = length,
                           .path = way,
                           .flow_label = 0,
                           .tclass = 0,
                           .hop_limit = 64,
                           .next_header = 41,
                           .reserved = 0,
                           .host_usid = 0,
                           .reserved2 = 0,
                           .inner = {}};
        std::fill_n(std::begin(slot.inner), RAW_PAYLOAD_AT, std::uint8_t{0xA5});
        std::memcpy(slot.inner + RAW_PAYLOAD_AT, &source, sizeof(source));
        update(skeleton_->maps.push_slots, 0U, slot);
        mrc_push_ring ring{};
        ring.producer = 1;
        update(skeleton_->maps.push_ring, 0U, ring);
        return run_prog(bpf_program__fd(skeleton_->progs.raw_push), packet_bytes(MRC_PUSH_BLANK_BYTES));
    }

    raw_push_bpf *skeleton_ = nullptr;
    packet_bytes region_;
};

TEST_F(raw_push, headers_from_the_slot_and_payload_from_the_region)
{
    for (const auto &[offset, bytes] :
         {std::pair{0U, 0U}, std::pair{12345U, 8U}, std::pair{RAW_REGION_BYTES - 3072, 3072U}}) {
        const std::uint32_t length = RAW_PAYLOAD_AT + bytes + MRC_ICRC_LEN;
        const prog_run_result result =
            send({.offset = offset, .payload_bytes = bytes, .icrc = icrc_on_the_wire}, length);
        EXPECT_EQ(result.verdict, static_cast<std::uint32_t>(XDP_REDIRECT));
        ASSERT_EQ(result.packet.size(), MRC_OUTER_BYTES + length);
        packet_bytes expected(RAW_PAYLOAD_AT, 0xA5);
        expected.insert(expected.end(), region_.begin() + offset, region_.begin() + offset + bytes);
        const auto *const icrc = reinterpret_cast<const std::uint8_t *>(&icrc_on_the_wire);
        expected.insert(expected.end(), icrc, icrc + MRC_ICRC_LEN);
        EXPECT_TRUE(same_bytes(expected, std::span(result.packet).subspan(MRC_OUTER_BYTES)));
    }
}

TEST_F(raw_push, a_source_outside_the_region_is_refused)
{
    const std::uint32_t length = RAW_PAYLOAD_AT + 64 + MRC_ICRC_LEN;
    std::int64_t refused = 0;
    for (const raw_source &source : {raw_source{.offset = RAW_REGION_BYTES + 1, .payload_bytes = 64, .icrc = 0},
                                     raw_source{.offset = RAW_REGION_BYTES - 63, .payload_bytes = 64, .icrc = 0},
                                     raw_source{.offset = ~0U, .payload_bytes = 64, .icrc = 0},
                                     raw_source{.offset = 0, .payload_bytes = RAW_LONGEST_PAYLOAD + 1, .icrc = 0}}) {
        EXPECT_EQ(send(source, length).verdict, static_cast<std::uint32_t>(XDP_DROP)) << source.offset;
        EXPECT_EQ(per_cpu_sum(bpf_map__fd(skeleton_->maps.verdicts), MRC_PUSH_BAD_SLOT), ++refused);
    }
}

// The frame holds what it says, not what the slot's source does.
TEST_F(raw_push, a_payload_longer_than_the_packet_is_refused)
{
    const std::uint32_t length = RAW_PAYLOAD_AT + 64 + MRC_ICRC_LEN;
    EXPECT_EQ(send({.offset = 0, .payload_bytes = 72, .icrc = 0}, length).verdict,
              static_cast<std::uint32_t>(XDP_DROP));
}

} // namespace
} // namespace mrc::test
