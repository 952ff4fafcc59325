// SPDX-License-Identifier: Apache-2.0
// Many queue pairs before one congestion window: who goes on when there is room, and how many are looked at for it.
#include "datapath/crowded_windows.h"

#include <deque>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "unit/datapath/worker_in_memory.h"

namespace mrc::datapath
{
namespace
{

constexpr std::uint32_t packet_bytes = 3072;
constexpr protocol::window_wish much{.next = packet_bytes, .all = 1 << 20};

class crowd : public testing::Test
{
protected:
    worker_qp &wait(worker_client &client, const protocol::window_wish &wish = much)
    {
        worker_qp &qp = all_.emplace_back();
        qp.client = &client;
        qp.congestion = &window_;
        windows_.enter(qp);
        windows_.add(qp, wish);
        return qp;
    }
    void fill() { window_.on_sent(window_bytes, {}); }
    void make_room(std::int64_t bytes) { window_.on_abandoned(static_cast<std::uint32_t>(bytes)); }
    std::vector<const worker_qp *> admit()
    {
        std::vector<const worker_qp *> admitted;
        windows_.admit([&](worker_qp &qp) {
            windows_.remove(qp);
            admitted.push_back(&qp);
        });
        return admitted;
    }
    void TearDown() override
    {
        for (worker_qp &qp : all_)
            windows_.leave(qp);
    }

    static constexpr std::uint32_t window_bytes = 1 << 20;
    protocol::fixed_window window_{window_bytes};
    worker_client one_;
    worker_client other_;
    std::deque<worker_qp> all_;
    crowded_windows windows_;
};

TEST_F(crowd, waits_while_the_window_is_full)
{
    fill();
    wait(one_);
    EXPECT_TRUE(admit().empty());
    make_room(packet_bytes - 1);
    EXPECT_TRUE(admit().empty());
    make_room(1);
    EXPECT_EQ(admit().size(), 1u);
}

TEST_F(crowd, as_many_go_on_as_there_is_room_for_their_turns)
{
    fill();
    std::vector<const worker_qp *> order;
    order.reserve(1000);
    for (unsigned n = 0; n < 1000; ++n)
        order.push_back(&wait(one_));
    make_room(3 * queue_pair_quantum);
    EXPECT_EQ(admit(), (std::vector{order[0], order[1], order[2]})) << "in the order in which they came";
    EXPECT_EQ(windows_.admissions(), 3u) << "and nobody else is looked at";
}

TEST_F(crowd, those_with_little_to_send_share_the_room_of_a_turn)
{
    fill();
    for (unsigned n = 0; n < 1000; ++n)
        wait(one_, {.next = 128, .all = 256});
    make_room(queue_pair_quantum);
    EXPECT_EQ(admit().size(), queue_pair_quantum / 256u);
}

TEST_F(crowd, clients_have_room_in_turn)
{
    fill();
    std::vector<const worker_qp *> many;
    many.reserve(100);
    for (unsigned n = 0; n < 100; ++n)
        many.push_back(&wait(one_));
    const worker_qp &alone = wait(other_);
    make_room(2 * queue_pair_quantum);
    EXPECT_EQ(admit(), (std::vector{many[0], &alone}));
}

TEST_F(crowd, an_empty_window_lets_one_packet_fly_whatever_its_size)
{
    wait(one_, {.next = 2 * window_bytes, .all = std::uint64_t{2} * window_bytes});
    wait(one_, {.next = 2 * window_bytes, .all = std::uint64_t{2} * window_bytes});
    EXPECT_EQ(admit().size(), 1u);
}

TEST_F(crowd, who_leaves_is_not_admitted)
{
    fill();
    worker_qp &gone = wait(one_);
    const worker_qp &stays = wait(one_);
    windows_.remove(gone);
    make_room(window_bytes);
    EXPECT_EQ(admit(), (std::vector{&stays}));
}

// A thousand queue pairs of a worker, each with more to send than the window of them all has room for.
class thousand_before_a_window : public testing::Test
{
protected:
    void SetUp() override
    {
        (void)worker_.memory().replenish();
        worker_.add_peer(peer_);
        auto made = test::client_in_memory(1);
        worker_client &client = *made;
        worker_.add_client(std::move(made));
        around_.engine.on_commit = [this](const departure &, std::span<const std::byte> bytes) {
            const auto packet = codec::decode(bytes, false);
            const auto *data = packet ? std::get_if<protocol::data_packet>(&packet->content) : nullptr;
            if (data != nullptr)
                sent_by_.push_back(data->destination.value);
        };
        for (std::uint32_t n = 0; n < count; ++n) {
            test::rings_in_memory &rings = rings_.emplace_back(4);
            rings.post_sends(4);
            worker_.add_qp(rings.connect(client, first_qp + n, first_qp + n, peer_));
        }
        while (worker_.round() != 0) {
        }
    }
    void TearDown() override
    {
        for (std::uint32_t n = 0; n < count; ++n)
            (void)worker_.remove_qp(protocol::qpn{first_qp + n});
    }

    [[nodiscard]] unsigned taking_turns() { return test::taking_turns(worker_, first_qp, count); }

    static constexpr std::uint32_t first_qp = 16;
    static constexpr std::uint32_t count = 1000;
    static constexpr std::uint32_t window_packets = 10;
    std::vector<std::uint32_t> sent_by_; // who has sent a packet
    test::worker_surroundings around_;
    test::remote_host host_{1};
    protocol::fixed_window window_{std::uint64_t{window_packets} * protocol::nominal_bytes(8)};
    worker_peer peer_ = [this] {
        worker_peer to = host_.peer();
        to.congestion = &window_;
        return to;
    }();
    std::deque<test::rings_in_memory> rings_;
    worker worker_{test::standing_still(), around_.resources()};
};

TEST_F(thousand_before_a_window, take_no_turns)
{
    EXPECT_EQ(sent_by_.size(), window_packets);
    EXPECT_EQ(taking_turns(), 0u);
}

TEST_F(thousand_before_a_window, room_for_a_packet_gives_one_a_turn_and_each_has_its_own)
{
    sent_by_.clear();
    constexpr unsigned rooms = 500;
    for (unsigned n = 0; n < rooms; ++n) {
        window_.on_abandoned(protocol::nominal_bytes(8));
        worker_.round();
    }
    EXPECT_EQ(sent_by_.size(), rooms);
    EXPECT_EQ(std::set(sent_by_.begin(), sent_by_.end()).size(), rooms) << "nobody is left behind";
    EXPECT_EQ(taking_turns(), 0u);
}

} // namespace
} // namespace mrc::datapath
