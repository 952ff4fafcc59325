// SPDX-License-Identifier: Apache-2.0
#include "datapath/probe_targets.h"

#include <chrono>
#include <optional>
#include <variant>

#include <gtest/gtest.h>

#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

// A host that two groups lead to: that of its leaf, and that of an EV profile. Answers say who sends them, not which
// of the groups has asked.
class a_host_of_two_groups : public testing::Test
{
protected:
    void SetUp() override
    {
        targets_.add(host_.peer());
        targets_.add_profile_group(of_profile());
    }

    [[nodiscard]] worker_peer of_profile()
    {
        worker_peer peer = host_.peer();
        peer.paths = &profile_;
        return peer;
    }
    // The request id of what the group asks the host.
    [[nodiscard]] std::uint16_t ask(protocol::path_group &group)
    {
        group.watch_idle(now_ + 10s);
        std::optional<std::uint16_t> id;
        for (unsigned beat = 0; beat < 10 && !id; ++beat, now_ += 1s)
            targets_.transmit(
                now_, [] { return true; },
                [&](const probe_targets::probe &probe) {
                    EXPECT_EQ(probe.to->ports, host_.peer().ports);
                    id = std::get<protocol::endpoint_request_packet>(probe.packet.content).request_id;
                });
        EXPECT_TRUE(id) << "nothing was asked";
        return id.value_or(0);
    }
    [[nodiscard]] bool answer(const worker_peer &from, std::uint16_t id)
    {
        protocol::endpoint_response_packet response{};
        response.request_id = id;
        response.operation = MRC_EP_EV_PROBE;
        return targets_.on_response(from, response, {.entropy = {}, .path = profile_.path(0).index, .at = now_});
    }

    kernel::mapped_array<mrc_path_row> paths_ = test::table_in_memory<mrc_path_row>(MRC_USUAL_PATHS);
    kernel::mapped_array<mrc_overlay_row> overlay_ = test::table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS);
    test::remote_host host_{1};
    test::remote_host stranger_{2};
    protocol::path_group profile_{test::paths_of(1), host_.local};
    probe_targets targets_{paths_, overlay_};
    instant now_{1s};
};

TEST_F(a_host_of_two_groups, answers_the_one_that_asked)
{
    const std::uint16_t id = ask(profile_);
    EXPECT_FALSE(answer(stranger_.peer(), id)) << "was not asked";
    EXPECT_TRUE(answer(host_.peer(), id));
}

TEST_F(a_host_of_two_groups, that_is_forgotten_answers_none)
{
    const std::uint16_t id = ask(profile_);
    targets_.forget({host_.peer().ports}, {});
    EXPECT_EQ(targets_.size(), 0U);
    EXPECT_FALSE(answer(host_.peer(), id));
}

TEST_F(a_host_of_two_groups, goes_on_answering_one_when_the_other_goes)
{
    const std::uint16_t id = ask(host_.group);
    targets_.forget({}, {&profile_});
    EXPECT_EQ(targets_.size(), 1U);
    EXPECT_TRUE(answer(host_.peer(), id));
}

} // namespace
} // namespace mrc::datapath
