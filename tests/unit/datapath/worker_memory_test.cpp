// SPDX-License-Identifier: Apache-2.0
// A worker without thread and sockets, and regions in the memory of a process: what is held of them, and until when.
#include <array>
#include <cstring>
#include <span>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "codec/frame_codec.h"
#include "unit/datapath/worker_in_memory.h"

namespace mrc::datapath
{
namespace
{

constexpr std::uint32_t number = 16;
constexpr std::size_t payload_bytes = 1024;
constexpr std::size_t packets = 300; // more than can be held
constexpr std::uint64_t page = 4096;

class worker_memory : public testing::Test
{
protected:
    worker_memory()
    {
        worker_.add_peer(host_.peer());
        auto made = test::client_in_memory(1);
        worker_client &client = *made;
        worker_.add_client(std::move(made));
        const auto process =
            kernel::process_memory::adopt(kernel::unique_fd{::open("/proc/self/mem", O_RDWR | O_CLOEXEC)}).value();
        key_ = worker_.regions()
                   .add({.access = session::access_remote_write,
                         .domain = {},
                         .va = 0,
                         .memory = {process, reinterpret_cast<std::uintptr_t>(target_.get()), packets * payload_bytes}},
                        1)
                   .value_or(0);
        worker_.add_qp(rings_.connect(client, number, host_, nullptr, worker_.regions()));
        around_.engine.on_commit = [this](const departure &, std::span<const std::byte> bytes) {
            const auto packet = codec::decode(bytes, false);
            if (const auto *ack = packet ? std::get_if<protocol::transport_ack_packet>(&packet->content) : nullptr)
                answered_.push_back(*ack);
        };
    }
    ~worker_memory() override { (void)worker_.remove_qp(protocol::qpn{number}); }

    // A message of one packet, to its own place in the region, as host_rx steers it.
    void arrive(std::uint32_t n)
    {
        const protocol::data_packet data{.opcode = MRC_OP_WRITE_ONLY,
                                         .destination = protocol::qpn{number},
                                         .sequence = protocol::psn{n},
                                         .ack_request = true,
                                         .tx_timestamp = 1,
                                         .va = n * payload_bytes,
                                         .rkey = key_,
                                         .message_bytes = payload_bytes,
                                         .immediate = std::nullopt,
                                         .payload_bytes = payload_bytes};
        test::arrive(worker_, data, host_, number, std::byte{0x5A});
    }
    [[nodiscard]] bool has_arrived(std::uint32_t n) const
    {
        const std::span bytes = target_.bytes().subspan(n * payload_bytes, payload_bytes);
        return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0x5A}; });
    }

    kernel::mapping target_{
        ::mmap(nullptr, packets *payload_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        packets *payload_bytes};
    test::worker_surroundings around_;
    test::remote_host host_{1};
    test::rings_in_memory rings_{16};
    worker worker_{test::standing_still(), around_.resources()};
    std::uint32_t key_ = 0;
    std::vector<protocol::transport_ack_packet> answered_;
};

TEST_F(worker_memory, payload_for_a_process_is_written_before_its_message_is_acknowledged)
{
    arrive(1);
    arrive(0);
    EXPECT_FALSE(has_arrived(0)) << "it is held";
    EXPECT_TRUE(around_.engine.sent.empty());

    worker_.round();

    EXPECT_TRUE(has_arrived(0) && has_arrived(1));
    ASSERT_FALSE(answered_.empty());
    EXPECT_EQ(answered_.back().msn, 2u);
    EXPECT_EQ(answered_.back().syndrome, MRC_AETH_ACK);
}

TEST_F(worker_memory, more_packets_than_can_be_held_are_all_written)
{
    for (std::uint32_t n = 0; n < packets; ++n)
        arrive(n);
    EXPECT_TRUE(has_arrived(0)) << "there was no place for the later ones";
    worker_.round();
    for (std::uint32_t n = 0; n < packets; ++n)
        EXPECT_TRUE(has_arrived(n)) << n;
    ASSERT_FALSE(answered_.empty());
    EXPECT_EQ(answered_.back().msn, packets);
}

TEST_F(worker_memory, memory_that_is_gone_is_refused_where_it_is_gone)
{
    ASSERT_EQ(::munmap(target_.bytes().data() + page, page), 0); // packets 4 to 7
    for (std::uint32_t n = 0; n < 10; ++n)
        arrive(n);
    worker_.round();
    for (const std::uint32_t n : {0U, 1U, 2U, 3U, 8U, 9U})
        EXPECT_TRUE(has_arrived(n)) << n;
    ASSERT_EQ(answered_.size(), 2u);
    EXPECT_EQ(answered_[0].msn, 4u);
    EXPECT_EQ(answered_[1].syndrome, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(answered_[1].sequence, protocol::psn{4});
    EXPECT_EQ(worker_.find_qp(protocol::qpn{number})->protocol->state(), protocol::qp_state::error);
}

} // namespace
} // namespace mrc::datapath
