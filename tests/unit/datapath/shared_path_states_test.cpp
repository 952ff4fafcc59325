// SPDX-License-Identifier: Apache-2.0
#include "datapath/shared_path_states.h"

#include <vector>

#include <gtest/gtest.h>

#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

using enum protocol::path_state;
using protocol::path_cause;

class shared_path_states_test : public testing::Test
{
protected:
    void note(unsigned worker, protocol::path_state from, protocol::path_state to,
              path_cause cause = path_cause::silence)
    {
        states_.note(worker, {.path = path_, .entropy = {}, .from = from, .to = to, .cause = cause},
                     [this](const protocol::path_transition &shown) { told_.push_back(shown); });
    }
    [[nodiscard]] unsigned row() const { return rows_[path_.value].state; }

    protocol::path_index path_{5};
    kernel::mapped_array<mrc_path_row> rows_ = test::table_in_memory<mrc_path_row>(8);
    shared_path_states states_{rows_};
    std::vector<protocol::path_transition> told_;
};

TEST_F(shared_path_states_test, the_first_to_blame_a_path_is_told_and_the_last_to_prove_it)
{
    note(0, good, assumed_bad, path_cause::loss);
    ASSERT_EQ(told_.size(), 1U);
    EXPECT_EQ(told_[0].from, good);
    EXPECT_EQ(told_[0].to, assumed_bad);
    EXPECT_EQ(told_[0].cause, path_cause::loss);
    EXPECT_EQ(row(), unsigned{MRC_PATH_ASSUMED_BAD});
    note(2, good, assumed_bad);
    note(0, assumed_bad, good);
    EXPECT_EQ(told_.size(), 1U) << "another one finds it bad still";
    EXPECT_EQ(row(), unsigned{MRC_PATH_ASSUMED_BAD});
    note(2, assumed_bad, good, path_cause::probes);
    ASSERT_EQ(told_.size(), 2U);
    EXPECT_EQ(told_[1].from, assumed_bad);
    EXPECT_EQ(told_[1].to, good);
    EXPECT_EQ(row(), unsigned{MRC_PATH_GOOD});
}

TEST_F(shared_path_states_test, the_worst_is_shown)
{
    note(0, good, kept);
    note(1, good, assumed_bad);
    EXPECT_EQ(row(), unsigned{MRC_PATH_ASSUMED_BAD});
    note(1, assumed_bad, good);
    EXPECT_EQ(row(), unsigned{MRC_PATH_KEPT});
    ASSERT_EQ(told_.size(), 3U);
    EXPECT_EQ(told_[2].to, kept);
    note(1, good, denied);
    EXPECT_EQ(row(), unsigned{MRC_PATH_DENIED});
}

TEST_F(shared_path_states_test, a_row_that_is_anothers_begins_anew)
{
    note(0, good, assumed_bad);
    note(1, good, assumed_bad);
    states_.forget(path_);
    note(1, good, assumed_bad);
    EXPECT_EQ(told_.size(), 2U);
    note(1, assumed_bad, good);
    EXPECT_EQ(row(), unsigned{MRC_PATH_GOOD}) << "whatever worker 0 found of the path before";
}

} // namespace
} // namespace mrc::datapath
