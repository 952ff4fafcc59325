// SPDX-License-Identifier: Apache-2.0
#include "datapath/probe_targets.h"

#include <gtest/gtest.h>

#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;

constexpr protocol::plane_index second_plane{1};
constexpr protocol::plane_mask both{0b11};

// Two hosts behind one T0, both in use; the first one is asked, and answers.
class probe_targets_test : public testing::Test
{
protected:
    void SetUp() override
    {
        second_.paths = first_.paths;
        targets_.add(first_);
        targets_.add(second_);
        targets_.on_answer(first_, now_);
    }
    void use_both()
    {
        targets_.on_use(first_, now_);
        targets_.on_use(second_, now_);
    }
    [[nodiscard]] const protocol::port_status *asked() const { return targets_.groups()[0].target.ports; }

    protocol::instant now_{1s};
    test::remote_host one_{1, 2};
    test::remote_host two_{2, 2};
    worker_peer first_ = one_.peer();
    worker_peer second_ = two_.peer();
    kernel::mapped_array<mrc_path_row> paths_ = test::table_in_memory<mrc_path_row>(MRC_MAX_PATHS);
    kernel::mapped_array<mrc_overlay_row> overlay_ = test::table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS);
    probe_targets targets_{paths_, overlay_};
};

TEST_F(probe_targets_test, host_that_answers_is_asked_again)
{
    use_both();
    EXPECT_EQ(asked(), first_.ports);
    now_ += 2s;
    use_both();
    EXPECT_EQ(asked(), second_.ports) << "the first has not answered for long";
}

TEST_F(probe_targets_test, host_with_a_suspected_plane_is_asked_no_more_while_another_one_has_none)
{
    ASSERT_TRUE(one_.suspected.suspect(second_plane, both, now_));
    use_both();
    EXPECT_EQ(asked(), second_.ports);
    targets_.on_answer(second_, now_);
    use_both();
    EXPECT_EQ(asked(), second_.ports);
}

TEST_F(probe_targets_test, plane_suspected_toward_both_hosts_changes_nothing)
{
    ASSERT_TRUE(one_.suspected.suspect(second_plane, both, now_));
    ASSERT_TRUE(two_.suspected.suspect(second_plane, both, now_));
    use_both();
    EXPECT_EQ(asked(), first_.ports);
}

} // namespace
} // namespace mrc::datapath
