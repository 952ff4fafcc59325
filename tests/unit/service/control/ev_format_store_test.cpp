// SPDX-License-Identifier: Apache-2.0
#include "service/control/ev_format_store.h"

#include <cerrno>
#include <string_view>

#include <gtest/gtest.h>

namespace mrc::service::control
{
namespace
{

constexpr std::uint64_t id = 13;
constexpr std::uint32_t init = 0;
constexpr std::uint32_t offline = 1;
constexpr std::uint32_t online = 2;

using widths = std::vector<std::uint8_t>;

int code_of(const session::outcome<> &result)
{
    return result ? 0 : result.error().code;
}

ev_format_store store_in(const session::profile_limits &limits, std::uint32_t state)
{
    ev_format_store store{limits};
    if (state >= offline) {
        EXPECT_TRUE(store.modify(id, {.state = offline, .mode = 1, .widths = widths{16, 16}}));
    }
    if (state >= online) {
        EXPECT_TRUE(store.modify(id, {.state = online}));
    }
    return store;
}

struct row {
    std::string_view what;
    ev_format_change change;
    int error;
    std::uint32_t next;
};

void walk(std::uint32_t from, const std::vector<row> &table)
{
    const session::profile_limits limits;
    for (const auto &[what, change, error, next] : table) {
        ev_format_store store = store_in(limits, from);
        EXPECT_EQ(code_of(store.modify(id, change)), error) << what;
        EXPECT_EQ(static_cast<std::uint32_t>(store.find(id).state), next) << what;
    }
}

TEST(ev_format_store, every_call_in_init)
{
    walk(init,
         {
             {"nothing", {}, 0, init},
             {"stay", {.state = init}, 0, init},
             {"offline with mode", {.state = offline, .mode = 1}, 0, offline},
             {"offline with mode and fields", {.state = offline, .mode = 1, .widths = widths{8, 4, 4}}, 0, offline},
             {"offline without mode", {.state = offline}, EINVAL, init},
             {"offline with fields only", {.state = offline, .widths = widths{8}}, EINVAL, init},
             {"straight online", {.state = online, .mode = 1, .widths = widths{8}}, EINVAL, init},
             {"mode without state", {.mode = 1}, EINVAL, init},
             {"fields without state", {.widths = widths{8}}, EINVAL, init},
             {"no such state", {.state = 3}, EINVAL, init},
             {"right current state", {.state = offline, .current = init, .mode = 2}, 0, offline},
             {"wrong current state", {.state = offline, .current = offline, .mode = 2}, EINVAL, init},
             {"mode 0", {.state = offline, .mode = 0}, EINVAL, init},
             {"two modes", {.state = offline, .mode = 3}, EINVAL, init},
             {"unknown mode", {.state = offline, .mode = 8}, EINVAL, init},
         });
}

TEST(ev_format_store, every_call_in_offline)
{
    walk(offline, {
                      {"nothing", {}, 0, offline},
                      {"stay", {.state = offline}, 0, offline},
                      {"online", {.state = online}, 0, online},
                      {"online with fields", {.state = online, .widths = widths{32}}, 0, online},
                      {"init", {.state = init}, 0, init},
                      {"init with mode", {.state = init, .mode = 1}, EINVAL, offline},
                      {"mode", {.mode = 2}, 0, offline},
                      {"mode that the fields do not fit", {.mode = 4}, E2BIG, offline},
                      {"fields", {.widths = widths{1, 2, 3}}, 0, offline},
                      {"no field", {.widths = widths{}}, EINVAL, offline},
                      {"a field of no width", {.widths = widths{8, 0}}, EINVAL, offline},
                      {"a wide field", {.widths = widths{33}}, E2BIG, offline},
                      {"fields too wide together", {.widths = widths{16, 17}}, E2BIG, offline},
                      {"too many fields", {.widths = widths(17, 1)}, E2BIG, offline},
                      {"wrong current state", {.state = online, .current = online}, EINVAL, offline},
                  });
}

TEST(ev_format_store, every_call_in_online)
{
    walk(online, {
                     {"nothing", {}, 0, online},
                     {"stay", {.state = online}, 0, online},
                     {"offline", {.state = offline}, 0, offline},
                     {"offline with mode", {.state = offline, .mode = 1}, EINVAL, online},
                     {"init", {.state = init}, EINVAL, online},
                     {"mode", {.mode = 2}, EINVAL, online},
                     {"fields", {.widths = widths{8}}, EINVAL, online},
                 });
}

TEST(ev_format_store, online_needs_fields)
{
    const session::profile_limits limits;
    ev_format_store store{limits};
    ASSERT_TRUE(store.modify(id, {.state = offline, .mode = 2}));
    EXPECT_EQ(code_of(store.modify(id, {.state = online})), EINVAL);
    EXPECT_TRUE(store.modify(id, {.state = online, .widths = widths(8, 16)}));
    EXPECT_EQ(store.find(id).width(), 128U);
}

TEST(ev_format_store, widest_of_each_mode)
{
    EXPECT_EQ(widest(session::ev_format_mode::stev), 32U);
    EXPECT_EQ(widest(session::ev_format_mode::srv6), 128U);
    EXPECT_EQ(widest(session::ev_format_mode::udp), 16U);
}

TEST(ev_format_store, stays_online_while_an_ev_profile_is)
{
    const session::profile_limits limits;
    ev_format_store store = store_in(limits, online);
    store.add_online_profile(id);
    EXPECT_EQ(code_of(store.modify(id, {.state = offline})), EBUSY);
    store.remove_online_profile(id);
    EXPECT_TRUE(store.modify(id, {.state = offline}));
}

TEST(ev_format_store, built_in_format_is_read_only)
{
    const session::profile_limits limits;
    ev_format_store store{limits};
    EXPECT_EQ(store.find(0).state, session::profile_state::online);
    EXPECT_EQ(store.find(0).widths, (widths{21, 8, 3}));
    EXPECT_TRUE(store.modify(0, {.state = online, .current = online}));
    EXPECT_EQ(code_of(store.modify(0, {.state = offline})), EINVAL);
    EXPECT_EQ(code_of(store.modify(0, {.mode = 1})), EINVAL);
}

TEST(ev_format_store, as_many_as_the_limit_says)
{
    const session::profile_limits limits{.formats = 2};
    ev_format_store store{limits};
    const ev_format_change configure{.state = offline, .mode = 1};
    EXPECT_TRUE(store.modify(1, configure));
    EXPECT_TRUE(store.modify(2, configure));
    EXPECT_EQ(code_of(store.modify(3, configure)), EIO);
    EXPECT_TRUE(store.modify(1, {.state = init}));
    EXPECT_TRUE(store.modify(3, configure));
}

} // namespace
} // namespace mrc::service::control
