// SPDX-License-Identifier: Apache-2.0
// Queue pairs of two clients of one daemon that are connected to each other: what each of them sees is what it would
// see of a peer on another host, and no port sees anything.
#include "datapath/own_host.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "service/sessions/reports.h"
#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

using enum protocol::qp_state;
using protocol::completion_status;

constexpr std::uint64_t region_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t first_address = 0x10000;
constexpr std::uint32_t requests = 16; // session_in_memory's queues

// A client with registered memory and a queue pair.
class end
{
public:
    end(test::daemon_in_memory &daemon, std::uint32_t number) : client{daemon, number} {}

    int connect(const end &other, std::uint32_t other_qp)
    {
        session::qp_attributes wanted{};
        wanted.qpn = qp;
        wanted.mask = session::qp_sets_access;
        wanted.access = session::access_remote_write;
        if (const int error = client.modify(qp, init); error != 0)
            return error;
        if (const int error = modify_qp(client.state, wanted).reply.error; error != 0)
            return error;
        if (const int error = client.modify(qp, ready_to_receive, &other.client, other_qp); error != 0)
            return error;
        return client.modify(qp, ready_to_send);
    }
    [[nodiscard]] std::byte *bytes() { return static_cast<std::byte *>(memory.get()); }
    // With an immediate that counts the requests.
    void write(std::uint32_t rkey, std::uint32_t length, std::uint64_t from = 0, std::uint64_t to = 0)
    {
        session::send_entry entry;
        entry.id = posted;
        entry.remote_address = first_address + to;
        entry.rkey = rkey;
        entry.immediate = posted++;
        entry.flags = session::send_signaled | session::send_immediate;
        entry.pieces = 1;
        entry.first = {.address = first_address + from, .length = length, .lkey = key};
        ASSERT_TRUE(sends.push(entry));
        ring();
    }
    void receive(std::uint32_t count)
    {
        for (; count > 0; --count)
            ASSERT_TRUE(receives.push({.id = count}));
        ring();
    }
    [[nodiscard]] std::vector<session::completion_entry> completions()
    {
        std::vector<session::completion_entry> all;
        for (session::completion_entry entry; done.pop(entry);)
            all.push_back(entry);
        return all;
    }
    [[nodiscard]] protocol::qp_counters counters() const
    {
        return client.state.worker().find_qp(protocol::qpn{qp})->protocol->counters();
    }

    test::session_in_memory client;
    std::uint32_t pd = client.make_pd();
    std::uint32_t cq = client.make_cq(256);
    std::uint32_t qp = create_qp(client.state, client.qp_request(pd, cq)).reply.qp.qpn;
    kernel::unique_fd file = sealed_memory("region", region_bytes);
    kernel::mapping memory = filled();
    std::uint32_t key = register_memory(client.state,
                                        {.address = 0,
                                         .length = region_bytes,
                                         .iova = first_address,
                                         .offset = 0,
                                         .pd = pd,
                                         .access = session::access_remote_write | session::access_local_write},
                                        file)
                            .reply.number;
    session::queue_pair_layout layout = layout_of(client.state.qps.at(qp).numbers);
    session::ring_view<session::send_entry> sends = layout.sends(client.state.qps.at(qp).rings.get());
    session::ring_view<session::receive_entry> receives = layout.receives(client.state.qps.at(qp).rings.get());
    kernel::mapping done_memory = map_whole(client.state.cqs.at(cq).memory, session::completion_layout{256}.bytes());
    session::ring_view<session::completion_entry> done = session::completion_layout{256}.completions(done_memory.get());
    std::uint32_t posted = 0;

private:
    [[nodiscard]] kernel::mapping filled() const // a file with holes is refused
    {
        kernel::mapping whole = map_whole(file, region_bytes);
        std::memset(whole.get(), 0, region_bytes);
        return whole;
    }
    void ring() { client.state.worker_side->bells().ring(client.state.qps.at(qp).numbers.bell); }
};

class own_host : public testing::Test
{
protected:
    void connect()
    {
        ASSERT_EQ(one_.connect(two_, two_.qp), 0);
        ASSERT_EQ(two_.connect(one_, one_.qp), 0);
        two_.receive(requests);
    }
    // Until nothing moves any more.
    void settle()
    {
        while (here_.worker().round() != 0) {
        }
    }
    [[nodiscard]] std::uint64_t counted(mrc_verdict verdict) { return here_.worker().counters().drops[verdict]; }

    test::daemon_in_memory here_{0};
    test::daemon_in_memory elsewhere_{1};
    end one_{here_, 1};
    end two_{here_, 2};
};

TEST_F(own_host, writes_arrive_whole_and_in_order_and_no_port_sees_them)
{
    connect();
    for (std::size_t at = 0; at < region_bytes; ++at)
        one_.bytes()[at] = static_cast<std::byte>(at * 7 + at / 251);
    constexpr std::uint32_t piece = region_bytes / requests;
    for (std::uint32_t n = 0; n < requests; ++n)
        one_.write(two_.key, piece, std::uint64_t{n} * piece, std::uint64_t{n} * piece);
    settle();
    EXPECT_EQ(std::memcmp(one_.bytes(), two_.bytes(), region_bytes), 0);
    const auto sent = one_.completions();
    const auto arrived = two_.completions();
    ASSERT_EQ(sent.size(), requests);
    ASSERT_EQ(arrived.size(), requests);
    for (std::uint32_t n = 0; n < requests; ++n) {
        EXPECT_EQ(sent[n].id, n);
        EXPECT_EQ(sent[n].status, static_cast<std::uint8_t>(completion_status::success));
        EXPECT_EQ(arrived[n].immediate, n);
        EXPECT_EQ(arrived[n].bytes, piece);
    }
    EXPECT_FALSE(here_.deliver_to(elsewhere_)) << "nothing is on the wire";
    EXPECT_EQ(one_.counters().retransmits, 0u);
    EXPECT_EQ(two_.counters().rx_bytes, region_bytes);
    const std::uint64_t packets = one_.counters().tx_packets + one_.counters().sacks_sent + one_.counters().acks_sent +
                                  two_.counters().sacks_sent + two_.counters().acks_sent;
    EXPECT_EQ(counted(MRC_AGENT_LOCAL), packets) << "each is counted, once";
    EXPECT_EQ(counted(MRC_AGENT_ACCEPTED), 0u);
}

TEST_F(own_host, a_queue_pair_may_be_its_own_peer)
{
    ASSERT_EQ(one_.connect(one_, one_.qp), 0);
    one_.receive(1);
    std::memset(one_.bytes(), 5, 3000);
    one_.write(one_.key, 3000, 0, 100'000);
    settle();
    EXPECT_EQ(std::memcmp(one_.bytes(), one_.bytes() + 100'000, 3000), 0);
    EXPECT_EQ(one_.completions().size(), 2u);
}

TEST_F(own_host, goes_on_without_any_port)
{
    connect();
    here_.lose_port();
    one_.write(two_.key, 5000);
    settle();
    EXPECT_EQ(one_.completions().size(), 1u);
    EXPECT_EQ(two_.completions().size(), 1u);
}

TEST_F(own_host, a_wrong_key_fails_both_ends_as_it_does_between_hosts)
{
    connect();
    one_.write(two_.key + 1, 100);
    settle();
    const auto sent = one_.completions();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].status, static_cast<std::uint8_t>(completion_status::remote_access_error));
    EXPECT_EQ(one_.client.state_of(one_.qp), error);
    EXPECT_EQ(two_.client.state_of(two_.qp), error);
    EXPECT_EQ(two_.counters().rx_refused, 1u);
}

TEST_F(own_host, memory_of_another_client_is_not_reached_by_its_key)
{
    end third{here_, 3};
    connect();
    std::memset(one_.bytes(), 1, region_bytes);
    one_.write(third.key, 100); // two_ is at the other end
    settle();
    EXPECT_EQ(one_.completions().at(0).status, static_cast<std::uint8_t>(completion_status::remote_access_error));
    EXPECT_EQ(third.bytes()[0], std::byte{0});
}

// Packets from a queue pair that was connected to it, and is not its peer.
TEST_F(own_host, a_queue_pair_hears_nobody_but_the_one_at_its_other_end)
{
    end third{here_, 3};
    ASSERT_EQ(third.connect(two_, two_.qp), 0); // before its peer is
    ASSERT_EQ(two_.connect(one_, one_.qp), 0);
    std::memset(third.bytes(), 1, region_bytes);
    two_.receive(requests);
    third.write(two_.key, 100);
    settle();
    EXPECT_TRUE(two_.completions().empty());
    EXPECT_EQ(two_.bytes()[0], std::byte{0});
    EXPECT_EQ(two_.client.state_of(two_.qp), ready_to_send);
    EXPECT_GT(counted(MRC_AGENT_DROP_WRONG_PEER), 0u);
    EXPECT_EQ(one_.connect(two_, two_.qp), EBUSY) << "as toward queue pairs of other hosts";
}

TEST_F(own_host, lets_nothing_in_that_comes_by_a_port)
{
    connect();
    EXPECT_EQ(here_.row_of(two_.qp).sender, 0u) << "host_rx: nobody's";
}

TEST_F(own_host, packets_to_a_queue_pair_that_is_gone_are_counted_and_asked_for_again)
{
    connect();
    EXPECT_EQ(destroy_qp(two_.client.state, two_.qp).reply.error, 0);
    one_.write(two_.key, 100);
    settle();
    EXPECT_TRUE(one_.completions().empty()) << "until it is given up";
    EXPECT_GT(counted(MRC_AGENT_DROP_UNKNOWN_QP), 0u);
    EXPECT_NE(one_.client.state.worker().find_qp(protocol::qpn{one_.qp})->protocol->next_deadline(), protocol::never);
}

// All share one way: what one of them never hears of says nothing about it.
TEST_F(own_host, a_queue_pair_without_a_peer_keeps_no_other_from_sending)
{
    end third{here_, 3};
    end fourth{here_, 4};
    connect();
    ASSERT_EQ(third.connect(fourth, fourth.qp), 0);
    ASSERT_EQ(fourth.connect(third, third.qp), 0);
    fourth.receive(requests);
    EXPECT_EQ(destroy_qp(two_.client.state, two_.qp).reply.error, 0);
    one_.write(two_.key, region_bytes);
    settle();
    ASSERT_GT(counted(MRC_AGENT_DROP_UNKNOWN_QP), 8u);
    third.write(fourth.key, region_bytes);
    settle();
    EXPECT_EQ(third.completions().size(), 1u);
}

// The receiver's window, in PSNs, is far smaller than what the sender has to send, and than its congestion window.
TEST_F(own_host, no_more_flies_than_the_receiver_takes)
{
    connect();
    one_.write(two_.key, region_bytes);
    std::uint32_t most = 0;
    const datapath::worker_qp &sender = *here_.worker().find_qp(protocol::qpn{one_.qp});
    while (here_.worker().round() != 0)
        most = std::max(most, sender.protocol->inflight_packets());
    EXPECT_EQ(one_.completions().size(), 1u);
    EXPECT_GT(most, 0u);
    EXPECT_LE(most, here_.resources().config.transport.window_psns);
    EXPECT_EQ(two_.counters().rx_out_of_window, 0u);
}

// Each client's turn could fill all places; whose turn is first changes.
TEST_F(own_host, clients_share_its_places_by_bytes)
{
    end third{here_, 3};
    end fourth{here_, 4};
    connect();
    ASSERT_EQ(third.connect(fourth, fourth.qp), 0);
    ASSERT_EQ(fourth.connect(third, third.qp), 0);
    fourth.receive(requests);
    for (std::uint32_t n = 0; n < requests; ++n) {
        one_.write(two_.key, region_bytes);
        third.write(fourth.key, region_bytes);
    }
    constexpr std::uint64_t enough = 4 * region_bytes;
    while (two_.counters().rx_bytes < enough || fourth.counters().rx_bytes < enough)
        ASSERT_NE(here_.worker().round(), 0u);
    EXPECT_LT(std::max(two_.counters().rx_bytes, fourth.counters().rx_bytes), enough + enough / 2);
}

TEST_F(own_host, reports_name_no_plane_and_no_path)
{
    connect();
    one_.write(two_.key, 5000);
    settle();
    const session::qp_report report = report_qp(one_.client.state, one_.qp).reply.report;
    EXPECT_EQ(report.planes, 0u);
    EXPECT_EQ(report.paths_good + report.paths_skip + report.paths_kept + report.paths_assumed_bad, 0u);
    EXPECT_EQ(report.tx_bytes, 5000u);
    EXPECT_EQ(query_status(one_.client.state).reply.status.dropped, 0u);
    EXPECT_EQ(query_status(one_.client.state).reply.status.received, 0u) << "by the ports";
}

TEST_F(own_host, is_asked_nothing_by_endpoint_operations)
{
    const auto found = here_.resources().peers.hold(here_.address());
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().text.find("is this host itself: no path leads there"), std::string::npos)
        << found.error().text;
}

} // namespace
} // namespace mrc::service
