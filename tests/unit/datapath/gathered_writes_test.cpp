// SPDX-License-Identifier: Apache-2.0
#include "datapath/gathered_writes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/kernel/memory_client.h"
#include "unit/kernel/system_calls.h"

namespace mrc::datapath
{
namespace
{

constexpr std::size_t payload_bytes = 3072;
constexpr std::uint64_t page = 4096;
constexpr protocol::qpn first_qp{0x11};
constexpr protocol::qpn second_qp{0x22};

std::vector<std::byte> filled(unsigned value, std::size_t bytes = payload_bytes)
{
    return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

class gathered_writes_test : public testing::Test
{
protected:
    [[nodiscard]] bool add(std::uint64_t offset, protocol::packet_number number, protocol::qpn owner = first_qp)
    {
        return held_.add(region_, *region_.process(), offset, filled(static_cast<unsigned>(number)),
                         {.owner = owner, .number = number});
    }
    void write()
    {
        refused_.clear();
        settled_.clear();
        held_.write(
            [this](const held_packet &packet, std::size_t bytes) {
                EXPECT_EQ(bytes, payload_bytes);
                refused_.push_back(packet.number);
            },
            [this](protocol::qpn owner) { settled_.push_back(owner.value); });
    }
    [[nodiscard]] std::vector<std::byte> content(std::uint64_t offset)
    {
        std::vector<std::byte> all(payload_bytes);
        EXPECT_TRUE(memory_->read(client_.address() + offset, all));
        return all;
    }
    // Where in the region an image ends, with as much before it as behind it.
    [[nodiscard]] std::uint64_t seam() const
    {
        return gathered_writes::image_bytes - client_.address() % gathered_writes::image_bytes;
    }

    memory_client client_;
    std::shared_ptr<const kernel::process_memory> memory_ =
        kernel::process_memory::adopt(client_.take_memory()).value();
    client_memory region_{memory_, client_.address(), memory_client::bytes};
    gathered_writes held_;
    std::vector<protocol::packet_number> refused_;
    std::vector<std::uint32_t> settled_;
};

// As they come over four planes, of which one is late.
TEST_F(gathered_writes_test, adjacent_packets_are_written_by_one_call_in_whatever_order_they_came)
{
    const std::uint64_t begin = seam();
    for (const unsigned n : {1U, 5U, 2U, 6U, 3U, 7U, 0U, 4U})
        ASSERT_TRUE(add(begin + n * payload_bytes, n));
    EXPECT_EQ(content(begin), std::vector<std::byte>(payload_bytes, memory_client::pattern)) << "it is only held";

    EXPECT_EQ(test::system_calls_of([this] { write(); }).writes, 1U);

    for (unsigned n = 0; n < 8; ++n)
        EXPECT_EQ(content(begin + n * payload_bytes), filled(n));
    EXPECT_TRUE(refused_.empty());
    EXPECT_EQ(settled_, (std::vector<std::uint32_t>{first_qp.value}));
    EXPECT_TRUE(held_.empty());
}

TEST_F(gathered_writes_test, what_lies_between_packets_is_left_alone)
{
    ASSERT_TRUE(add(seam(), 1));
    ASSERT_TRUE(add(seam() + 2 * payload_bytes, 3, second_qp));

    EXPECT_EQ(test::system_calls_of([this] { write(); }).writes, 2U);

    EXPECT_EQ(content(seam() + payload_bytes), std::vector<std::byte>(payload_bytes, memory_client::pattern));
    EXPECT_EQ(content(seam() + 2 * payload_bytes), filled(3));
    EXPECT_EQ(settled_, (std::vector<std::uint32_t>{first_qp.value, second_qp.value}));
}

TEST_F(gathered_writes_test, a_packet_may_lie_in_two_images)
{
    ASSERT_TRUE(add(seam() - 1000, 7));
    write();
    EXPECT_EQ(content(seam() - 1000), filled(7));
    EXPECT_TRUE(refused_.empty());
}

TEST_F(gathered_writes_test, of_two_packets_for_the_same_bytes_the_later_one_stays)
{
    ASSERT_TRUE(add(seam(), 1));
    ASSERT_TRUE(add(seam() + 1000, 2));
    ASSERT_TRUE(add(seam(), 3));
    write();
    EXPECT_EQ(content(seam()), filled(3));
    EXPECT_EQ(content(seam() + 1000).back(), std::byte{2});
}

// Of eight adjacent packets the fifth and the sixth touch a page that is gone.
TEST_F(gathered_writes_test, bytes_that_are_gone_fail_their_packets_and_no_others)
{
    const std::uint64_t begin = seam() % page == 0 ? seam() : seam() / page * page + page;
    client_.unmap(begin + 4 * page, page); // 16,384 to 20,480
    for (const unsigned n : {7U, 6U, 5U, 4U, 3U, 2U, 1U, 0U})
        ASSERT_TRUE(add(begin + n * payload_bytes, n));

    write();

    std::ranges::sort(refused_);
    EXPECT_EQ(refused_, (std::vector<protocol::packet_number>{5, 6}));
    for (const unsigned n : {0U, 1U, 2U, 3U, 4U, 7U})
        EXPECT_EQ(content(begin + n * payload_bytes), filled(n)) << n;
    EXPECT_TRUE(region_.broken()) << "later packets are not even tried";
}

TEST_F(gathered_writes_test, holds_so_many_packets_and_no_more_and_then_as_many_again)
{
    for (unsigned again = 0; again < 2; ++again) {
        std::uint32_t count = 0;
        while (held_.has_room())
            ASSERT_TRUE(add(count++ % 16 * payload_bytes, 1));
        EXPECT_EQ(count, gathered_writes::most_packets);
        EXPECT_FALSE(add(0, 1));
        write();
        EXPECT_TRUE(refused_.empty());
    }
}

// Regions that are spread out use up the images first: nothing is tried with the addresses until write().
TEST_F(gathered_writes_test, holds_so_many_images_and_no_more)
{
    client_memory wide{memory_, gathered_writes::image_bytes, gathered_writes::image_bytes * 64};
    std::uint64_t count = 0;
    while (held_.has_room())
        ASSERT_TRUE(held_.add(wide, *wide.process(), count++ * gathered_writes::image_bytes, filled(1),
                              {.owner = first_qp, .number = 0}));
    EXPECT_LE(count, gathered_writes::most_images);
    EXPECT_GE(count, gathered_writes::most_images - 2);
    EXPECT_FALSE(held_.add(wide, *wide.process(), 0, filled(1), {.owner = first_qp, .number = 0}));
}

TEST_F(gathered_writes_test, no_more_than_a_packet_is_taken)
{
    EXPECT_FALSE(held_.add(region_, *region_.process(), 0, filled(1, gathered_writes::longest_payload + 1), {}));
    EXPECT_TRUE(held_.empty());
}

// Two processes may have memory at the same address, as these two, of which one is the other's fork, do.
TEST(gathered_writes_of_two_test, each_process_gets_its_own)
{
    memory_client clients[2];
    gathered_writes held;
    std::vector<std::shared_ptr<const kernel::process_memory>> memory;
    std::vector<client_memory> regions;
    for (memory_client &client : clients) {
        memory.push_back(kernel::process_memory::adopt(client.take_memory()).value());
        regions.emplace_back(memory.back(), client.address(), memory_client::bytes);
    }
    for (unsigned n = 0; n < 2; ++n)
        ASSERT_TRUE(held.add(regions[n], *regions[n].process(), 0, filled(n + 1), {.owner = first_qp, .number = n}));
    held.write([](const held_packet &packet, std::size_t) { ADD_FAILURE() << packet.number; }, [](protocol::qpn) {});
    for (unsigned n = 0; n < 2; ++n)
        EXPECT_EQ(clients[n].look(0)[0], static_cast<std::byte>(n + 1));
}

} // namespace
} // namespace mrc::datapath
