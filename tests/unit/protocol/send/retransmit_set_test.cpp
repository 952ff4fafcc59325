// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "protocol/random_source.h"
#include "protocol/send/retransmit_set.h"

namespace mrc::protocol
{
namespace
{

TEST(retransmit_set, yields_the_oldest_first)
{
    retransmit_set lost{1024};
    for (const packet_number number : {700, 3, 64, 3})
        lost.insert(number);
    EXPECT_EQ(lost.size(), 3u);
    for (const packet_number number : {3, 64, 700}) {
        EXPECT_EQ(lost.lowest(), number);
        lost.erase(number);
    }
    EXPECT_TRUE(lost.empty());
    lost.erase(5);
    EXPECT_TRUE(lost.empty());
}

TEST(retransmit_set, agrees_with_a_set)
{
    random_source random{7};
    retransmit_set lost{300};
    std::set<packet_number> model;
    packet_number base = 0;
    for (int step = 0; step < 50'000; ++step) {
        base = model.empty() ? base + random.below(500) : *model.begin();
        const packet_number number = base + random.below(300);
        if (random.below(2) == 0) {
            if (model.empty() || number < *model.begin() + 300) {
                model.insert(number);
                lost.insert(number);
            }
        } else {
            model.erase(number);
            lost.erase(number);
        }
        ASSERT_EQ(lost.size(), model.size());
        if (!model.empty()) {
            ASSERT_EQ(lost.lowest(), *model.begin());
        }
    }
}

} // namespace
} // namespace mrc::protocol
