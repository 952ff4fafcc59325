// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gtest/gtest.h>

#include "datapath/packet_output.h"
#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

constexpr mrc_ip here{{0xfd, 1}};

class output : public testing::Test
{
protected:
    void SetUp() override
    {
        for (std::uint32_t row = 0; row < 4; ++row)
            paths_[row].port = static_cast<__u8>(row);
    }
    [[nodiscard]] static protocol::outgoing probe_on(std::uint32_t path)
    {
        return {.content = protocol::endpoint_request_packet{},
                .payload = {},
                .entropy = protocol::ev{0x12345678},
                .path = protocol::path_index{path},
                .dscp = MRC_DSCP_CONTROL,
                .ecn = MRC_ECN_NOT_ECT};
    }

    kernel::mapped_array<mrc_path_row> paths_ = test::table_in_memory<mrc_path_row>(MRC_USUAL_PATHS);
    test::counting_engine left_;
    test::counting_engine right_;
    test::remote_host host_{1};
    packet_output output_{{.source = {.common = here}}, {&left_, &right_, &left_, nullptr}, paths_};
};

TEST_F(output, a_packet_goes_to_the_engine_of_its_paths_port)
{
    EXPECT_TRUE(output_.send(host_.address, 77, probe_on(1)));
    EXPECT_TRUE(output_.send(host_.address, 77, probe_on(2)));
    ASSERT_EQ(right_.sent.size(), 1U);
    EXPECT_EQ(right_.sent[0].path, 1U);
    EXPECT_EQ(right_.sent[0].host_usid, 77U);
    EXPECT_EQ(right_.sent[0].flow_label, 0x45678U);
    EXPECT_EQ(left_.sent.size(), 1U);
}

TEST_F(output, a_packet_for_a_plane_without_a_port_is_lost)
{
    EXPECT_TRUE(output_.send(host_.address, 77, probe_on(3)));
    paths_[4].port = 200; // beyond all ports
    EXPECT_TRUE(output_.send(host_.address, 77, probe_on(4)));
    EXPECT_TRUE(left_.sent.empty() && right_.sent.empty());
}

TEST_F(output, an_engine_of_several_ports_is_flushed_once)
{
    output_.flush();
    EXPECT_EQ(left_.flushes, 1U);
    EXPECT_EQ(right_.flushes, 1U);
}

TEST_F(output, one_full_engine_holds_up_all)
{
    EXPECT_TRUE(output_.ready());
    right_.room = 0;
    EXPECT_FALSE(output_.ready());
}

} // namespace
} // namespace mrc::datapath
