// SPDX-License-Identifier: Apache-2.0
// The table by itself; that the responder does what it says is shown by state_tables_qp_test.cpp.
#include "protocol/receive/acceptance.h"

#include <gtest/gtest.h>

namespace mrc::protocol
{
namespace
{

TEST(acceptance, every_case_has_its_row_and_its_counter)
{
    for (std::size_t at = 0; at < acceptance_rules.size(); ++at) {
        SCOPED_TRACE(at);
        const acceptance &rule = acceptance_rules[at];
        EXPECT_EQ(static_cast<std::size_t>(rule.what), at);
        EXPECT_EQ(&rule_of(rule.what), &rule);
        EXPECT_NE(rule.counter, nullptr);
    }
}

TEST(acceptance, packet_is_confirmed_or_refused_but_never_both)
{
    for (const acceptance &rule : acceptance_rules) {
        SCOPED_TRACE(static_cast<int>(rule.what));
        EXPECT_FALSE(rule.nack != 0 && rule.sack != sack_rule::none);
        EXPECT_FALSE(rule.nack != 0 && rule.arrives) << "what is refused changes no state";
        EXPECT_EQ(rule.arrives, rule.sack == sack_rule::by_triggers);
        EXPECT_FALSE(rule.acked_again && rule.arrives);
    }
}

} // namespace
} // namespace mrc::protocol
