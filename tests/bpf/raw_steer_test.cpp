// SPDX-License-Identifier: Apache-2.0
//
// raw_steer, the prototype of copies in XDP: what has a right ICRC and stays in the region is placed, noted and
// answered, and of everything else not one byte is.
#include <algorithm>
#include <iostream>
#include <utility>

#include "codec/icrc.h"
#include "perf/raw/crc_tables.h"
#include "perf/raw/note.h"

#include "host_fixture.h"

#include "raw_steer.skel.h"

namespace mrc::test
{
namespace
{

constexpr std::uint16_t raw_port = 18700;
constexpr std::uint32_t raw_run = 0x1234567;
constexpr std::uint32_t raw_report_after = 4;
constexpr std::size_t raw_outer = MRC_OUTER_BYTES;
const ip6_address near_end = ip6("2001:db8::1");
const ip6_address far_end = ip6("2001:db8::2");
const ip6_address way_back = ip6("fcbb:bb00:2200:1201:2201:8203::");

// One port's program, in a mode.
class steering
{
public:
    steering(raw_mode mode, bool icrc) : program_(raw_steer_bpf__open())
    {
        const raw_config config{.port = host_port,
                                .udp_port = raw_port,
                                .mode = static_cast<std::uint8_t>(mode),
                                .icrc = static_cast<std::uint8_t>(icrc)};
        std::memcpy(&program_->rodata->config, &config, sizeof(config));
        raw::fill_crc_tables(program_->rodata->crc_tables);
        loaded_ = raw_steer_bpf__load(program_) == 0;
        EXPECT_TRUE(loaded_) << "the verifier refuses it";
        if (!loaded_)
            return;
        mrc_port_row port{};
        port.flags = MRC_PORT_USABLE;
        port.mtu = 3400;
        port.address = to_ip(far_end);
        std::ranges::copy(port_mac, std::begin(port.mac));
        update(program_->maps.ports, host_port, port);
        update(program_->maps.next_hops, host_port, next_hop_at(gateway_mac));
        mrc_path_row path{};
        path.carrier = to_ip(way_back);
        path.host_usid_at = 10;
        path.state = MRC_PATH_GOOD;
        path.port = host_port;
        path.next_hop = host_port;
        update(program_->maps.paths, host_port, path);
        update(program_->maps.raw_session, 0U, raw_session{.run = raw_run, .report_after = raw_report_after});
    }
    steering(const steering &) = delete;
    steering &operator=(const steering &) = delete;
    ~steering() { raw_steer_bpf__destroy(program_); }

    [[nodiscard]] int fd() const { return bpf_program__fd(program_->progs.raw_steer); }
    [[nodiscard]] raw_mark mark() const { return lookup<raw_mark>(program_->maps.raw_marks, host_port); }
    [[nodiscard]] packet_bytes region() const
    {
        packet_bytes bytes(sizeof(raw_region));
        const std::uint32_t only = 0;
        EXPECT_EQ(bpf_map_lookup_elem(bpf_map__fd(program_->maps.raw_region), &only, bytes.data()), 0);
        return bytes;
    }
    [[nodiscard]] bool region_is_empty() const
    {
        const packet_bytes bytes = region();
        return bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
    }

private:
    raw_steer_bpf *program_;
    bool loaded_ = false;
};

packet_bytes with_icrc(packet_bytes frame)
{
    const std::size_t covered = frame.size() - raw_outer - MRC_ICRC_LEN;
    const std::uint32_t icrc = codec::icrc(std::as_bytes(std::span(frame)).subspan(raw_outer, covered));
    std::memcpy(frame.data() + raw_outer + covered, &icrc, sizeof(icrc));
    return frame;
}

packet_bytes packet(raw_note note)
{
    note.magic = RAW_MAGIC;
    note.run = note.run == 0 ? raw_run : note.run;
    const std::size_t payload = (std::size_t{note.payload_bytes} + 3) / 4 * 4;
    return with_icrc(packet_builder()
                         .ethernet()
                         .ipv6({.source = near_end, .destination = host_usid})
                         .ipv6({.source = near_end, .destination = far_end, .next_header = IPPROTO_UDP})
                         .udp({.source = raw_port, .destination = raw_port})
                         .object(note)
                         .bytes(packet_bytes(RAW_PAYLOAD_AT - RAW_NOTE_AT - sizeof(note)))
                         .fill(payload)
                         .bytes(packet_bytes(MRC_ICRC_LEN))
                         .build());
}

packet_bytes payload_of(const packet_bytes &frame, std::uint32_t bytes)
{
    const auto begin = frame.begin() + raw_outer + RAW_PAYLOAD_AT;
    return {begin, begin + bytes};
}

raw_note note_of(const packet_bytes &frame)
{
    raw_note note;
    std::memcpy(&note, frame.data() + raw_outer + RAW_NOTE_AT, sizeof(note));
    return note;
}

class raw_steer : public testing::Test
{
protected:
    void SetUp() override
    {
        if (!may_load_bpf())
            GTEST_SKIP() << "needs root to load BPF programs";
    }

    // Goes on to AF_XDP (here there is no socket: to the kernel) as it came, and leaves nothing behind.
    static void expect_left_alone(const steering &program, const packet_bytes &frame)
    {
        const prog_run_result result = run_prog(program.fd(), frame);
        EXPECT_EQ(result.verdict, static_cast<std::uint32_t>(XDP_PASS));
        EXPECT_TRUE(same_bytes(frame, result.packet));
        EXPECT_TRUE(program.region_is_empty());
        EXPECT_EQ(program.mark().packets, 0U);
        EXPECT_EQ(program.mark().latest, 0U);
    }

    static void expect_refused(const steering &program, const packet_bytes &frame, raw_refusal why,
                               std::uint64_t times = 1)
    {
        EXPECT_EQ(run_prog(program.fd(), frame).verdict, static_cast<std::uint32_t>(XDP_DROP));
        EXPECT_EQ(program.mark().refused[why], times);
        EXPECT_TRUE(program.region_is_empty());
        EXPECT_EQ(program.mark().packets, 0U);
        EXPECT_EQ(program.mark().latest, 0U);
    }
};

void expect_answer(const prog_run_result &result, raw_kind kind, std::uint64_t number)
{
    ASSERT_EQ(result.verdict, static_cast<std::uint32_t>(XDP_TX));
    raw_note said;
    said.kind = static_cast<std::uint8_t>(kind);
    said.number = number;
    said.magic = RAW_MAGIC;
    said.run = raw_run;
    said.payload_bytes = RAW_ANSWER_BYTES - RAW_PAYLOAD_AT - MRC_ICRC_LEN;
    const packet_bytes expected =
        with_icrc(packet_builder()
                      .ethernet({.destination = gateway_mac, .source = port_mac})
                      .ipv6({.source = far_end, .destination = way_back})
                      .ipv6({.source = far_end, .destination = near_end, .next_header = IPPROTO_UDP})
                      .udp({.source = raw_port, .destination = raw_port})
                      .object(said)
                      .bytes(packet_bytes(RAW_ANSWER_BYTES - RAW_NOTE_AT - sizeof(said)))
                      .build());
    EXPECT_TRUE(same_bytes(expected, result.packet));
}

TEST_F(raw_steer, a_short_ping_is_placed_noted_and_answered)
{
    for (const std::uint32_t bytes : {1U, 4U, 8U, 30U, 64U, RAW_SHORT_PAYLOAD}) {
        const steering program(RAW_ANSWER, true);
        const raw_note ping{.offset = 4097, .number = 41, .kind = RAW_PING, .payload_bytes = bytes};
        const packet_bytes frame = packet(ping);
        const prog_run_result result = run_prog(program.fd(), frame);
        expect_answer(result, RAW_PONG, 41);
        packet_bytes expected(sizeof(raw_region));
        std::ranges::copy(payload_of(frame, bytes), expected.begin() + ping.offset);
        EXPECT_TRUE(same_bytes(expected, program.region())) << bytes;
        const raw_mark mark = program.mark();
        EXPECT_EQ(mark.latest, 42U);
        EXPECT_EQ(mark.run, raw_run);
        EXPECT_EQ(mark.offset, ping.offset);
        EXPECT_EQ(mark.payload_bytes, bytes);
        EXPECT_EQ(mark.packets, 1U);
        EXPECT_EQ(mark.bytes, bytes);
    }
}

TEST_F(raw_steer, a_wrong_icrc_is_neither_placed_nor_answered)
{
    for (const raw_mode mode : {RAW_PLACE, RAW_ANSWER, RAW_MARK}) {
        const steering program(mode, true);
        const packet_bytes right = packet({.number = 7, .kind = RAW_PING, .payload_bytes = 30});
        std::uint64_t refused = 0;
        for (std::size_t at = raw_outer + RAW_PAYLOAD_AT; at < right.size(); ++at) {
            packet_bytes wrong = right;
            wrong[at] ^= 0x10;
            expect_refused(program, wrong, RAW_WRONG_ICRC, ++refused);
        }
        packet_bytes elsewhere = right;
        elsewhere[raw_outer + RAW_NOTE_AT + offsetof(raw_note, offset)] ^= 0x04;
        expect_refused(program, elsewhere, RAW_WRONG_ICRC, ++refused);
    }
}

TEST_F(raw_steer, what_may_change_on_the_way_may)
{
    const steering program(RAW_ANSWER, true);
    packet_bytes changed = packet({.kind = RAW_PING, .payload_bytes = 8});
    changed[raw_outer + 1] |= 0x30;             // CE
    changed[raw_outer + 7] = 3;                 // hop limit
    changed[raw_outer + 40 + 6] = 0x12;         // UDP checksum
    changed[raw_outer + RAW_NOTE_AT + 4] = 0x7; // where BTH has its reserved byte
    EXPECT_EQ(run_prog(program.fd(), changed).verdict, static_cast<std::uint32_t>(XDP_TX));
}

TEST_F(raw_steer, nothing_is_placed_outside_the_region)
{
    for (const raw_mode mode : {RAW_PLACE, RAW_ANSWER, RAW_MARK}) {
        const steering program(mode, true);
        std::uint64_t refused = 0;
        for (const std::uint32_t offset : {RAW_REGION_BYTES - 63, RAW_REGION_BYTES, RAW_REGION_BYTES + 1, ~0U - 8, ~0U})
            expect_refused(program, packet({.offset = offset, .kind = RAW_PING, .payload_bytes = 64}),
                           RAW_OUT_OF_REGION, ++refused);
    }
    const steering program(RAW_ANSWER, true);
    const packet_bytes last = packet({.offset = RAW_REGION_BYTES - 64, .kind = RAW_PING, .payload_bytes = 64});
    EXPECT_EQ(run_prog(program.fd(), last).verdict, static_cast<std::uint32_t>(XDP_TX));
    const packet_bytes region = program.region();
    EXPECT_TRUE(same_bytes(payload_of(last, 64), std::span(region).subspan(RAW_REGION_BYTES - 64, 64)));
}

TEST_F(raw_steer, what_is_too_long_or_of_another_run_is_the_programs)
{
    for (const raw_mode mode : {RAW_ANSWER, RAW_MARK}) {
        const steering program(mode, true);
        expect_left_alone(program, packet({.kind = RAW_PING, .payload_bytes = RAW_SHORT_PAYLOAD + 1}));
        expect_left_alone(program, packet({.kind = RAW_PING, .payload_bytes = 3072}));
        expect_left_alone(program, packet({.run = raw_run + 1, .kind = RAW_PING, .payload_bytes = 8}));
        expect_left_alone(program, packet({.kind = RAW_FINISH, .payload_bytes = 8}));
        expect_left_alone(program, packet({.kind = RAW_PING, .payload_bytes = 0}));
        const raw_kind other = mode == RAW_MARK ? RAW_DATA : RAW_PONG;
        expect_left_alone(program, packet({.kind = static_cast<std::uint8_t>(other), .payload_bytes = 8}));
    }
    expect_left_alone(steering(RAW_WHOLE, true), packet({.kind = RAW_PING, .payload_bytes = 8}));
}

// Cut behind its headers it would look like one whose payload was placed.
TEST_F(raw_steer, what_is_not_as_long_as_it_says_is_refused)
{
    const steering program(RAW_PLACE, false);
    const packet_bytes right = packet({.kind = RAW_DATA, .payload_bytes = 64});
    std::uint64_t refused = 0;
    for (const std::size_t bytes : {raw_outer + RAW_PAYLOAD_AT, right.size() - 4, right.size() + 4}) {
        packet_bytes wrong = right;
        wrong.resize(bytes);
        expect_refused(program, wrong, RAW_NOT_WHOLE, ++refused);
    }
}

TEST_F(raw_steer, payload_of_any_length_is_placed_and_headers_go_on)
{
    for (const bool icrc : {false, true})
        for (const std::uint32_t bytes : {1U, 8U, 63U, 1408U, 3072U}) {
            const steering program(RAW_PLACE, icrc);
            const raw_note data{.offset = 3072 * 7, .number = 7, .kind = RAW_DATA, .payload_bytes = bytes};
            const packet_bytes frame = packet(data);
            const prog_run_result result = run_prog(program.fd(), frame);
            EXPECT_EQ(result.verdict, static_cast<std::uint32_t>(XDP_PASS));
            EXPECT_TRUE(same_bytes(std::span(frame).first(raw_outer + RAW_PAYLOAD_AT), result.packet));
            packet_bytes expected(sizeof(raw_region));
            std::ranges::copy(payload_of(frame, bytes), expected.begin() + data.offset);
            EXPECT_TRUE(same_bytes(expected, program.region())) << bytes;
        }
}

TEST_F(raw_steer, data_is_acknowledged_every_few_packets)
{
    const steering program(RAW_ANSWER, true);
    for (std::uint64_t number = 0; number < std::uint64_t{3} * raw_report_after; ++number) {
        const prog_run_result result =
            run_prog(program.fd(), packet({.number = number, .kind = RAW_DATA, .payload_bytes = 64}));
        if ((number + 1) % raw_report_after == 0)
            expect_answer(result, RAW_PROGRESS, number + 1);
        else
            EXPECT_EQ(result.verdict, static_cast<std::uint32_t>(XDP_DROP));
    }
    EXPECT_EQ(program.mark().packets, 3U * raw_report_after);
    EXPECT_EQ(program.mark().bytes, 3U * raw_report_after * 64);
}

TEST_F(raw_steer, marked_messages_are_acknowledged_and_acknowledgements_are_not)
{
    const steering program(RAW_MARK, true);
    for (const raw_kind kind : {RAW_PING, RAW_PONG}) {
        const prog_run_result result =
            run_prog(program.fd(), packet({.number = 3, .kind = static_cast<std::uint8_t>(kind), .payload_bytes = 8}));
        expect_answer(result, RAW_TAKEN, 3);
        EXPECT_EQ(run_prog(program.fd(), result.packet).verdict, static_cast<std::uint32_t>(XDP_DROP));
    }
    EXPECT_EQ(program.mark().latest, 4U);
    EXPECT_EQ(program.mark().taken, 2U);
    EXPECT_EQ(note_of(packet({.number = 3, .kind = RAW_PING, .payload_bytes = 8})).number, 3U);
}

TEST_F(raw_steer, cost)
{
    for (const auto &[mode, what] : {std::pair{RAW_ANSWER, "placed and answered"}, std::pair{RAW_PLACE, "placed"}})
        for (const std::uint32_t bytes : {8U, 64U, 256U, 3072U})
            for (const bool icrc : {false, true}) {
                if (mode == RAW_ANSWER && bytes > RAW_SHORT_PAYLOAD)
                    continue;
                const steering program(mode, icrc);
                std::cout << "raw_steer: " << bytes << " bytes " << what << (icrc ? ", ICRC checked" : "") << " in "
                          << timed_ns_per_run(program.fd(), packet({.kind = RAW_PING, .payload_bytes = bytes}), 2000)
                          << " ns\n";
            }
}

} // namespace
} // namespace mrc::test
