// SPDX-License-Identifier: Apache-2.0
#include "protocol/request_ids.h"

#include <set>

#include <gtest/gtest.h>

#include "protocol/paths/path_heartbeat.h"

namespace mrc::protocol
{
namespace
{

std::set<unsigned> all_of(id_range range)
{
    std::set<unsigned> ids;
    for (std::uint16_t id = range.first; ids.insert(id).second; id = range.after(id)) {
        EXPECT_TRUE(range.contains(id));
        EXPECT_EQ(range.position_of(id), ids.size() - 1);
    }
    EXPECT_EQ(ids.size(), range.size());
    return ids;
}

TEST(request_ids, one_worker_has_all_ids_of_a_range)
{
    EXPECT_EQ(all_of(ids_of(path_probe_ids, {})).size(), 0x1FFFU);
    EXPECT_EQ(all_of(ids_of(reverse_ids, {})).size(), 0x2000U);
}

TEST(request_ids, workers_and_profiles_share_a_range_without_an_id_in_common)
{
    for (const unsigned workers : {2U, 3U, 4U})
        for (const id_range &range : {path_probe_ids, plane_probe_ids, heartbeat_ids, reverse_ids}) {
            std::set<unsigned> all;
            for (unsigned part = 0; part < probe_id_parts; ++part)
                for (unsigned worker = 0; worker < workers; ++worker)
                    for (const unsigned id : all_of(ids_of(part_of(range, part), {.number = worker, .of = workers}))) {
                        EXPECT_TRUE(all.insert(id).second) << id << " has two owners";
                        EXPECT_TRUE(range.contains(static_cast<std::uint16_t>(id)));
                        EXPECT_EQ(MRC_ASKING_WORKER(id, MRC_ASKER_MASK(workers)), worker) << id;
                    }
            EXPECT_GE(all.size() + 1, range.size() / 4 * workers) << "0 is no id";
        }
}

TEST(request_ids, no_question_has_the_id_of_one_that_may_still_be_answered)
{
    const unsigned under_way = heartbeat_config{}.per_period * heartbeat_config{}.misses;
    EXPECT_GT(ids_of(part_of(heartbeat_ids, 3), {.number = 1, .of = MRC_MAX_WORKERS}).size(), under_way);
}

} // namespace
} // namespace mrc::protocol
