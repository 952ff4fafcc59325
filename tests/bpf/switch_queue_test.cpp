// SPDX-License-Identifier: Apache-2.0
//
// The virtual queue of bpf/switch.bpf.c: marking, trimming, dropping, draining. Its backlog is set through sw_queues,
// and the rate is so low that nothing drains while a test runs, so every decision is certain.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <cstdint>

#include "packet_builder.h"
#include "prog_run.h"
#include "switch_fixture.h"

namespace mrc::test
{
namespace
{

constexpr std::uint64_t standstill = 1; // bytes per ns << MRC_SW_RATE_SHIFT: a byte in 17 ms
constexpr std::uint64_t bdp = 100000;

const std::string to_spine = "fcbb:bb00:2000:1000:2001:8000::";
const std::string to_spine_shifted = "fcbb:bb00:1000:2001:8000::";
const std::string to_host = "fcbb:bb00:2000:8000::";
const std::string to_host_shifted = "fcbb:bb00:8000::";

class switch_queue_test : public switch_fixture
{
protected:
    static mrc_sw_impair_row queue_row(std::uint32_t flags)
    {
        mrc_sw_impair_row row{};

        row.flags = flags;
        row.rate = standstill;
        row.bdp_bytes = bdp;
        row.ecn_min_bytes = bdp / 5;
        row.ecn_max_bytes = bdp / 5 * 4;
        row.trim_bytes = bdp;
        row.drop_bytes = bdp * 5;
        row.priority_bytes = bdp;
        return row;
    }

    void set_backlog(std::uint32_t port, std::uint64_t bytes, std::uint64_t priority_bytes = 0)
    {
        mrc_sw_queue_row queue{};

        queue.updated_ns = ~0ULL >> 1; // in the future: nothing drains
        queue.backlog = bytes << MRC_SW_RATE_SHIFT;
        queue.priority_backlog = priority_bytes << MRC_SW_RATE_SHIFT;
        put(program_->maps.sw_queues, port, queue);
    }

    [[nodiscard]] std::uint64_t backlog(std::uint32_t port) const
    {
        return row<mrc_sw_queue_row>(program_->maps.sw_queues, port).backlog >> MRC_SW_RATE_SHIFT;
    }
    [[nodiscard]] std::uint64_t priority_backlog(std::uint32_t port) const
    {
        return row<mrc_sw_queue_row>(program_->maps.sw_queues, port).priority_backlog >> MRC_SW_RATE_SHIFT;
    }

    // `packet` as it leaves by `port` after a trim: cut to MRC_TRIM_FRAME, outer length and DSCP rewritten, the rest
    // kept.
    static packet_bytes trimmed(const data_packet &packet, std::uint32_t port, const std::string &shifted,
                                std::uint8_t dscp)
    {
        packet_bytes out = forwarded(packet, port, shifted);
        const std::uint8_t tclass = MRC_TCLASS(dscp, packet.ecn);

        out.resize(MRC_TRIM_FRAME);
        out[14] = static_cast<std::uint8_t>(0x60 | tclass >> 4);
        out[15] = static_cast<std::uint8_t>((out[15] & 0x0F) | tclass << 4);
        out[18] = 0;
        out[19] = MRC_TRIM_FRAME - MRC_OUTER_BYTES;
        return out;
    }
};

TEST_F(switch_queue_test, marks_ect_above_the_maximum)
{
    impair(spine_port, queue_row(MRC_SW_ECN));
    set_backlog(spine_port, bdp);
    for (const std::uint8_t ecn : {MRC_ECN_ECT0, MRC_ECN_ECT1}) {
        const data_packet packet{.destination = to_spine, .ecn = ecn};
        packet_bytes marked = forwarded(packet, spine_port, to_spine_shifted);

        marked[15] = static_cast<std::uint8_t>(marked[15] |
                                               MRC_ECN_CE << 4); // outer only: the inner one is under the ICRC's care
        expect(build(packet), XDP_REDIRECT, marked, {{MRC_SW_FORWARDED, 1}, {MRC_SW_MARKED, 1}});
    }
}

TEST_F(switch_queue_test, marks_neither_not_ect_nor_what_is_marked_already)
{
    impair(spine_port, queue_row(MRC_SW_ECN));
    set_backlog(spine_port, bdp);
    for (const std::uint8_t ecn : {MRC_ECN_NOT_ECT, MRC_ECN_CE}) {
        const data_packet packet{.destination = to_spine, .ecn = ecn};

        expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
    }
}

TEST_F(switch_queue_test, marks_nothing_below_the_minimum)
{
    const data_packet packet{.destination = to_spine};

    impair(spine_port, queue_row(MRC_SW_ECN));
    set_backlog(spine_port, bdp / 5 - packet.frame_bytes);
    expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_queue_test, marks_about_half_in_the_middle)
{
    constexpr int packets = 4000;
    constexpr int half = packets / 2;
    constexpr int six_sigma = 190;
    const packet_bytes in = build({.destination = to_spine, .frame_bytes = 200});

    impair(spine_port, queue_row(MRC_SW_ECN));
    for (int i = 0; i < packets; i++) {
        set_backlog(spine_port, bdp / 2 - in.size());
        run_prog(fd(), in);
    }
    EXPECT_NEAR(static_cast<int>(per_cpu_sum(bpf_map__fd(program_->maps.verdicts), MRC_SW_MARKED)), half, six_sigma);
}

TEST_F(switch_queue_test, never_marks_on_a_host_facing_port)
{
    const data_packet packet{.destination = to_host};

    impair(host_port, queue_row(MRC_SW_ECN));
    set_backlog(host_port, bdp * 2);
    expect(build(packet), XDP_REDIRECT, forwarded(packet, host_port, to_host_shifted), {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_queue_test, without_a_rate_there_is_no_queue)
{
    const data_packet packet{.destination = to_spine};
    mrc_sw_impair_row no_rate = queue_row(MRC_SW_ECN | MRC_SW_TRIM);

    no_rate.rate = 0;
    impair(spine_port, no_rate);
    set_backlog(spine_port, bdp * 10);
    expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
    EXPECT_EQ(backlog(spine_port), bdp * 10U);
}

TEST_F(switch_queue_test, trims_toward_a_spine_as_trimmed)
{
    impair(spine_port, queue_row(MRC_SW_ECN | MRC_SW_TRIM));
    set_backlog(spine_port, bdp);
    for (const std::uint8_t dscp : {MRC_DSCP_TRIMMABLE, MRC_DSCP_TRIMMABLE_RETX}) {
        for (const std::uint8_t ecn : {MRC_ECN_NOT_ECT, MRC_ECN_ECT0, MRC_ECN_CE}) {
            const data_packet packet{.destination = to_spine, .dscp = dscp, .ecn = ecn, .frame_bytes = 3414};

            expect(build(packet), XDP_REDIRECT, trimmed(packet, spine_port, to_spine_shifted, MRC_DSCP_TRIMMED),
                   {{MRC_SW_FORWARDED, 1}, {MRC_SW_TRIMMED, 1}});
        }
    }
    EXPECT_EQ(backlog(spine_port), bdp) << "a trimmed packet takes no room among the data";
    EXPECT_EQ(priority_backlog(spine_port), 6U * MRC_TRIM_FRAME);
    EXPECT_EQ(row<mrc_sw_port_row>(program_->maps.sw_ports, spine_port).tx_bytes, 6U * MRC_TRIM_FRAME);
}

TEST_F(switch_queue_test, trims_toward_a_host_as_trimmed_at_the_last_hop)
{
    const data_packet packet{.destination = to_host, .frame_bytes = 3414};

    impair(host_port, queue_row(MRC_SW_TRIM));
    set_backlog(host_port, bdp);
    expect(build(packet), XDP_REDIRECT, trimmed(packet, host_port, to_host_shifted, MRC_DSCP_TRIMMED_LASTHOP),
           {{MRC_SW_FORWARDED, 1}, {MRC_SW_TRIMMED, 1}});
}

TEST_F(switch_queue_test, trims_a_frame_of_several_buffers)
{
    const data_packet packet{.destination = to_spine, .frame_bytes = 9000};

    impair(spine_port, queue_row(MRC_SW_TRIM));
    set_backlog(spine_port, bdp);
    expect(build(packet), XDP_REDIRECT, trimmed(packet, spine_port, to_spine_shifted, MRC_DSCP_TRIMMED),
           {{MRC_SW_FORWARDED, 1}, {MRC_SW_TRIMMED, 1}});
}

TEST_F(switch_queue_test, trims_from_the_first_byte_over_the_threshold)
{
    const data_packet packet{.destination = to_spine};

    impair(spine_port, queue_row(MRC_SW_TRIM));
    set_backlog(spine_port, bdp - packet.frame_bytes);
    expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
    expect(build(packet), XDP_REDIRECT, trimmed(packet, spine_port, to_spine_shifted, MRC_DSCP_TRIMMED),
           {{MRC_SW_FORWARDED, 1}, {MRC_SW_TRIMMED, 1}});
}

TEST_F(switch_queue_test, a_packet_no_longer_than_a_trimmed_one_is_dropped_instead)
{
    const data_packet longest_untrimmable{.destination = to_spine, .frame_bytes = MRC_TRIM_FRAME};
    const data_packet shortest_trimmable{.destination = to_spine, .frame_bytes = MRC_TRIM_FRAME + 1};

    impair(spine_port, queue_row(MRC_SW_TRIM));
    set_backlog(spine_port, bdp);
    expect_drop(build(longest_untrimmable), MRC_SW_DROP_QUEUE);
    packet_bytes padded = build(longest_untrimmable);
    padded.resize(padded.size() + 40);
    expect_drop(padded, MRC_SW_DROP_QUEUE);
    expect(build(shortest_trimmable), XDP_REDIRECT,
           trimmed(shortest_trimmable, spine_port, to_spine_shifted, MRC_DSCP_TRIMMED),
           {{MRC_SW_FORWARDED, 1}, {MRC_SW_TRIMMED, 1}});
}

TEST_F(switch_queue_test, never_trims_control_or_what_must_not_be_trimmed)
{
    impair(spine_port, queue_row(MRC_SW_TRIM));
    set_backlog(spine_port, bdp * 2);
    for (const std::uint8_t dscp : {MRC_DSCP_CONTROL, MRC_DSCP_NO_TRIM, MRC_DSCP_TRIMMED, MRC_DSCP_TRIMMED_LASTHOP}) {
        const data_packet packet{.destination = to_spine, .dscp = dscp, .frame_bytes = 900};

        expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
    }
    set_backlog(spine_port, bdp * 5);
    expect_drop(build({.destination = to_spine, .dscp = MRC_DSCP_NO_TRIM}), MRC_SW_DROP_QUEUE);
}

TEST_F(switch_queue_test, without_trimming_the_queue_drops_when_it_is_full)
{
    const data_packet packet{.destination = to_spine};

    impair(spine_port, queue_row(0));
    set_backlog(spine_port, bdp * 5 - packet.frame_bytes);
    expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
    expect_drop(build(packet), MRC_SW_DROP_QUEUE);
    EXPECT_EQ(backlog(spine_port), bdp * 5U);
    EXPECT_EQ(row<mrc_sw_queue_row>(program_->maps.sw_queues, spine_port).peak_bytes, bdp * 5U);
}

TEST_F(switch_queue_test, the_priority_queue_has_its_own_end)
{
    impair(spine_port, queue_row(MRC_SW_TRIM));
    set_backlog(spine_port, bdp, bdp);
    expect_drop(build({.destination = to_spine}), MRC_SW_DROP_TRIM_QUEUE);
    expect_drop(build({.destination = to_spine, .dscp = MRC_DSCP_TRIMMED}), MRC_SW_DROP_TRIM_QUEUE);
    expect_drop(build({.destination = to_spine, .dscp = MRC_DSCP_CONTROL}), MRC_SW_DROP_QUEUE);
}

TEST_F(switch_queue_test, control_passes_a_full_data_queue)
{
    const data_packet control{
        .destination = to_spine, .dscp = MRC_DSCP_CONTROL, .ecn = MRC_ECN_ECT0, .frame_bytes = 154};

    impair(spine_port, queue_row(MRC_SW_ECN));
    set_backlog(spine_port, bdp * 5);
    expect(build(control), XDP_REDIRECT, forwarded(control, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_queue_test, a_lost_packet_takes_no_room)
{
    mrc_sw_impair_row lossy = queue_row(0);

    lossy.loss = MRC_SW_ALWAYS;
    impair(spine_port, lossy);
    set_backlog(spine_port, 1000);
    expect_drop(build({.destination = to_spine}), MRC_SW_IMPAIR_LOSS);
    EXPECT_EQ(backlog(spine_port), 1000U);
}

TEST_F(switch_queue_test, drains_at_its_rate_priority_first)
{
    const data_packet packet{.destination = to_spine};
    mrc_sw_impair_row fast = queue_row(0);
    mrc_sw_queue_row queue{};

    // A byte per ns, last looked at more than a second ago: a second drains, priority first.
    fast.rate = 1ULL << MRC_SW_RATE_SHIFT;
    fast.drop_bytes = 0xFFFFFFFF;
    impair(spine_port, fast);
    queue.backlog = 600000000ULL << MRC_SW_RATE_SHIFT;
    queue.priority_backlog = 500000000ULL << MRC_SW_RATE_SHIFT;
    put(program_->maps.sw_queues, spine_port, queue);
    run_prog(fd(), build(packet));
    EXPECT_EQ(priority_backlog(spine_port), 0U);
    EXPECT_EQ(backlog(spine_port), 100000000U + packet.frame_bytes);
    queue.priority_backlog = 1500000000ULL << MRC_SW_RATE_SHIFT;
    put(program_->maps.sw_queues, spine_port, queue);
    run_prog(fd(), build(packet));
    EXPECT_EQ(priority_backlog(spine_port), 500000000U);
    EXPECT_EQ(backlog(spine_port), 600000000U + packet.frame_bytes);
}

} // namespace
} // namespace mrc::test
