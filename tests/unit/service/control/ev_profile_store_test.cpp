// SPDX-License-Identifier: Apache-2.0
// Every state and call.
#include "service/control/ev_profile_store.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <gtest/gtest.h>

#include "unit/service/control/ev_profile_bench.h"

namespace mrc::service::control
{
namespace
{

using namespace profile_bench;

struct row {
    std::string_view what;
    ev_profile_change change;
    std::optional<session::ev_operation> operation;
    edit_entries entries;
    int error;
    std::uint32_t next;
};

void walk(std::uint32_t from, const std::vector<row> &table, const session::profile_limits &limits = {})
{
    for (const auto &[what, change, operation, entries, error, next] : table) {
        const auto made = bench_in(from, limits);
        const auto edit = operation ? std::optional{ev_edit{*operation, entries}} : std::nullopt;
        const ev_edit_result result = made->modify(change, edit);
        EXPECT_EQ(code_of(result.result), error) << what << ": " << (result.result ? "" : result.result.error().text);
        EXPECT_EQ(made->state(), next) << what;
    }
}

TEST(ev_profile_store, every_call_in_init)
{
    walk(init,
         {
             {"nothing", {}, none, {}, 0, init},
             {"automatic", {.state = offline, .mode = automatic}, none, {}, 0, offline},
             {"automatic with count", {.state = offline, .mode = automatic, .count = 4}, none, {}, 0, offline},
             {"automatic, too many", {.state = offline, .mode = automatic, .count = 9}, none, {}, E2BIG, init},
             {"automatic, too few", {.state = offline, .mode = automatic, .count = 1}, none, {}, EINVAL, init},
             {"listed", {.state = offline, .mode = listed, .format = 0, .count = 4}, none, {}, 0, offline},
             {"listed with fields",
              {.state = offline, .mode = listed, .format = 0, .count = 4, .fields = plain_fields},
              none,
              {},
              0,
              offline},
             {"generated", {.state = offline, .mode = generated, .format = 0, .count = 4}, none, {}, 0, offline},
             {"no mode", {.state = offline, .format = 0, .count = 4}, none, {}, EINVAL, init},
             {"no format", {.state = offline, .mode = listed, .count = 4}, none, {}, EINVAL, init},
             {"no count", {.state = offline, .mode = listed, .format = 0}, none, {}, EINVAL, init},
             {"format in INIT", {.state = offline, .mode = listed, .format = 5, .count = 4}, none, {}, EINVAL, init},
             {"unknown mode", {.state = offline, .mode = 8, .format = 0, .count = 4}, none, {}, EINVAL, init},
             {"two modes", {.state = offline, .mode = 6, .format = 0, .count = 4}, none, {}, EINVAL, init},
             {"count 0", {.state = offline, .mode = listed, .format = 0, .count = 0}, none, {}, EINVAL, init},
             {"count unaligned", {.state = offline, .mode = listed, .format = 0, .count = 3}, none, {}, EINVAL, init},
             {"count too large", {.state = offline, .mode = listed, .format = 0, .count = 2050}, none, {}, E2BIG, init},
             {"min_active above count",
              {.state = offline, .mode = listed, .format = 0, .count = 4, .min_active = 5},
              none,
              {},
              EINVAL,
              init},
             {"event mask with DENIED",
              {.state = offline, .mode = automatic, .event_mask = denied},
              none,
              {},
              EINVAL,
              init},
             {"wrong fields",
              {.state = offline, .mode = listed, .format = 0, .count = 4, .fields = {{{22, 0, 0, 0, 0}}}},
              none,
              {},
              EINVAL,
              init},
             {"too many fields",
              {.state = offline,
               .mode = listed,
               .format = 0,
               .count = 4,
               .fields = std::vector<mrc_ev_field>(17, {1, 0, 0, 0, 0})},
              none,
              {},
              E2BIG,
              init},
             {"straight online", {.state = online, .mode = automatic}, none, {}, EINVAL, init},
             {"wrong current state", {.state = offline, .current = offline, .mode = automatic}, none, {}, EINVAL, init},
             {"mode without state", {.mode = automatic}, none, {}, EINVAL, init},
             {"event mask without state", {.event_mask = 1}, none, {}, EINVAL, init},
             {"replace", {}, replace, populate, EINVAL, init},
             {"replace on the way",
              {.state = offline, .mode = listed, .format = 0, .count = 4},
              replace,
              populate,
              EINVAL,
              init},
             {"deny", {}, set_state, {entry(ev_of(0, 0), {}, denied)}, EINVAL, init},
         });
}

TEST(ev_profile_store, every_call_in_offline)
{
    walk(offline,
         {
             {"nothing", {}, none, {}, 0, offline},
             {"online", {.state = online, .min_active = 2, .event_mask = 3}, none, {}, 0, online},
             {"online without min_active", {.state = online, .event_mask = 3}, none, {}, EINVAL, offline},
             {"online without event mask", {.state = online, .min_active = 2}, none, {}, EINVAL, offline},
             {"online with an EV less",
              {.state = online, .count = 6, .min_active = 2, .event_mask = 3},
              none,
              {},
              EINVAL,
              offline},
             {"init", {.state = init}, none, {}, 0, init},
             {"init with count", {.state = init, .count = 4}, none, {}, EINVAL, offline},
             {"init with entries", {.state = init}, set_state, {entry(ev_of(0, 0), {}, denied)}, EINVAL, offline},
             {"mode", {.mode = automatic}, none, {}, 0, offline},
             {"mode without its count", {.mode = generated}, none, {}, EINVAL, offline},
             {"mode and count", {.mode = generated, .count = 2}, none, {}, 0, offline},
             {"format", {.format = 0}, none, {}, 0, offline},
             {"format in INIT", {.format = 9}, none, {}, EINVAL, offline},
             {"count", {.count = 8}, none, {}, 0, offline},
             {"count unaligned", {.count = 5}, none, {}, EINVAL, offline},
             {"min_active", {.min_active = 4}, none, {}, 0, offline},
             {"min_active above count", {.min_active = 5}, none, {}, EINVAL, offline},
             {"event mask", {.event_mask = 0}, none, {}, 0, offline},
             {"wrong event mask", {.event_mask = 8}, none, {}, EINVAL, offline},
             {"fields", {.fields = plain_fields}, none, {}, 0, offline},
             {"replace", {}, replace, {entry(ev_of(0, 0), ev_of(0, 3))}, 0, offline},
             {"replace what is not there", {}, replace, {entry(ev_of(0, 2), ev_of(0, 3))}, ENOENT, offline},
             {"replace by port 0", {}, replace, {entry(ev_of(0, 0), {})}, EINVAL, offline},
             {"replace without state", {}, replace, {entry(ev_of(0, 0), ev_of(0, 3), 0)}, EINVAL, offline},
             {"replace, unknown flag", {}, replace, {entry(ev_of(0, 0), ev_of(0, 3), good, 2)}, EINVAL, offline},
             {"deny", {}, set_state, {entry(ev_of(0, 0), {}, denied)}, 0, offline},
             {"assume bad", {}, set_state, {entry(ev_of(0, 0), {}, assumed_bad)}, EINVAL, offline},
             {"two states", {}, set_state, {entry(ev_of(0, 0), {}, good | denied)}, EINVAL, offline},
             {"deny what is not there", {}, set_state, {entry(ev_of(1, 3), {}, denied)}, ENOENT, offline},
             {"deny an unpopulated one", {}, set_state, {entry({}, {}, denied)}, ENOENT, offline},
             {"a query", {}, session::ev_operation::query_state, {entry(ev_of(0, 0), {}, 1)}, EINVAL, offline},
         });
}

TEST(ev_profile_store, every_call_in_online)
{
    walk(online,
         {
             {"nothing", {}, none, {}, 0, online},
             {"offline", {.state = offline}, none, {}, 0, offline},
             {"offline with count", {.state = offline, .count = 4}, none, {}, EINVAL, online},
             {"init", {.state = init}, none, {}, EINVAL, online},
             {"mode", {.mode = automatic}, none, {}, EINVAL, online},
             {"format", {.format = 0}, none, {}, EINVAL, online},
             {"count", {.count = 4}, none, {}, EINVAL, online},
             {"min_active", {.min_active = 1}, none, {}, EINVAL, online},
             {"event mask", {.event_mask = 1}, none, {}, EINVAL, online},
             {"fields", {.fields = plain_fields}, none, {}, EINVAL, online},
             {"replace", {}, replace, {entry(ev_of(0, 0), ev_of(0, 3))}, EINVAL, online},
             {"deny", {}, set_state, {entry(ev_of(0, 0), {}, denied)}, 0, online},
             {"allow", {}, set_state, {entry(ev_of(0, 0), {}, good)}, 0, online},
             {"deny what is not there", {}, set_state, {entry(ev_of(0, 2), {}, denied)}, ENOENT, online},
             {"deny on the way out", {.state = offline}, set_state, {entry(ev_of(0, 0), {}, 4)}, 0, offline},
         },
         {.modify_ev_online = false});
}

TEST(ev_profile_store, every_call_in_online_where_evs_may_change)
{
    walk(online,
         {
             {"event mask", {.event_mask = 1}, none, {}, 0, online},
             {"fields", {.fields = plain_fields}, none, {}, 0, online},
             {"replace", {}, replace, {entry(ev_of(0, 0), ev_of(0, 3))}, 0, online},
             {"replace by another plane's", {}, replace, {entry(ev_of(0, 0), ev_of(1, 3))}, EINVAL, online},
             {"replace by a known path", {}, replace, {entry(ev_of(0, 0), ev_of(0, 1, 5))}, EINVAL, online},
             {"mode", {.mode = automatic}, none, {}, EINVAL, online},
             {"count", {.count = 4}, none, {}, EINVAL, online},
             {"event mask on the way out", {.state = offline, .event_mask = 1}, none, {}, EINVAL, online},
         },
         {.modify_ev_online = true});
}

} // namespace
} // namespace mrc::service::control
