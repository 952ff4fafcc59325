// SPDX-License-Identifier: Apache-2.0
#include "service/control/cc_profile_store.h"

#include <cerrno>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include <gtest/gtest.h>

namespace mrc::service::control
{
namespace
{

constexpr std::uint64_t id = 7;
constexpr std::uint32_t init = 0;
constexpr std::uint32_t offline = 1;
constexpr std::uint32_t online = 2;
const std::string nscc{session::nscc_algorithm};

const session::nscc_values constants = to_nscc_values(protocol::derive_nscc({}));

int code_of(const session::outcome<> &result)
{
    return result ? 0 : result.error().code;
}

cc_profile_store store_in(const session::profile_limits &limits, std::uint32_t state)
{
    cc_profile_store store{limits, {}};
    if (state >= offline) {
        EXPECT_TRUE(store.modify(id, {.state = offline, .algorithm = nscc}));
    }
    if (state >= online) {
        EXPECT_TRUE(store.modify(id, {.state = online, .config = constants}));
    }
    return store;
}

struct row {
    std::string_view what;
    cc_profile_change change;
    int error;
    std::uint32_t next;
};

void walk(std::uint32_t from, const std::vector<row> &table, const session::profile_limits &limits = {})
{
    for (const auto &[what, change, error, next] : table) {
        cc_profile_store store = store_in(limits, from);
        EXPECT_EQ(code_of(store.modify(id, change)), error) << what;
        EXPECT_EQ(static_cast<std::uint32_t>(store.find(id).state), next) << what;
    }
}

TEST(cc_profile_store, every_call_in_init)
{
    walk(init,
         {
             {"nothing", {}, 0, init},
             {"offline with an algorithm", {.state = offline, .algorithm = nscc}, 0, offline},
             {"offline with none", {.state = offline, .algorithm = ""}, 0, offline},
             {"offline with all", {.state = offline, .algorithm = nscc, .config = constants}, 0, offline},
             {"offline without algorithm", {.state = offline}, EINVAL, init},
             {"offline with constants only", {.state = offline, .config = constants}, EINVAL, init},
             {"constants of no algorithm", {.state = offline, .algorithm = "", .config = constants}, EINVAL, init},
             {"unknown algorithm", {.state = offline, .algorithm = "dcqcn"}, EINVAL, init},
             {"straight online", {.state = online, .algorithm = nscc, .config = constants}, EINVAL, init},
             {"algorithm without state", {.algorithm = nscc}, EINVAL, init},
             {"constants without state", {.config = constants}, EINVAL, init},
             {"no such state", {.state = 9, .algorithm = nscc}, EINVAL, init},
             {"wrong current state", {.state = offline, .current = online, .algorithm = nscc}, EINVAL, init},
         });
}

TEST(cc_profile_store, every_call_in_offline)
{
    walk(offline, {
                      {"nothing", {}, 0, offline},
                      {"online with constants", {.state = online, .config = constants}, 0, online},
                      {"online without", {.state = online}, EINVAL, offline},
                      {"online with no algorithm", {.state = online, .algorithm = ""}, 0, online},
                      {"constants", {.config = constants}, 0, offline},
                      {"algorithm", {.algorithm = ""}, 0, offline},
                      {"init", {.state = init}, 0, init},
                      {"init with algorithm", {.state = init, .algorithm = nscc}, EINVAL, offline},
                      {"init with constants", {.state = init, .config = constants}, EINVAL, offline},
                  });
}

TEST(cc_profile_store, every_call_in_online)
{
    walk(online, {
                     {"nothing", {}, 0, online},
                     {"offline", {.state = offline}, 0, offline},
                     {"offline with constants", {.state = offline, .config = constants}, EINVAL, online},
                     {"init", {.state = init}, EINVAL, online},
                     {"algorithm", {.algorithm = nscc}, EINVAL, online},
                     {"constants", {.config = constants}, EINVAL, online},
                 });
}

TEST(cc_profile_store, every_call_in_online_where_constants_may_change)
{
    walk(online,
         {
             {"constants", {.config = constants}, 0, online},
             {"algorithm", {.algorithm = nscc}, EINVAL, online},
             {"offline", {.state = offline}, 0, offline},
             {"offline with constants", {.state = offline, .config = constants}, EINVAL, online},
         },
         {.modify_cc_online = true});
}

TEST(cc_profile_store, another_algorithm_forgets_the_constants)
{
    const session::profile_limits limits;
    cc_profile_store store = store_in(limits, offline);
    ASSERT_TRUE(store.modify(id, {.config = constants}));
    ASSERT_TRUE(store.modify(id, {.algorithm = ""}));
    ASSERT_TRUE(store.modify(id, {.algorithm = nscc}));
    EXPECT_EQ(code_of(store.modify(id, {.state = online})), EINVAL);
}

TEST(cc_profile_store, stays_online_while_queue_pairs_use_it)
{
    const session::profile_limits limits;
    cc_profile_store store = store_in(limits, offline);
    const cc_profile_change leave{.state = offline};
    EXPECT_EQ(code_of(store.acquire(id)), EINVAL);
    EXPECT_EQ(code_of(store.acquire(99)), EINVAL);
    ASSERT_TRUE(store.modify(id, {.state = online, .config = constants}));
    ASSERT_TRUE(store.acquire(id));
    EXPECT_EQ(code_of(store.modify(id, leave)), EBUSY);
    EXPECT_EQ(store.find(id).state, session::profile_state::online);
    store.release(id);
    EXPECT_TRUE(store.modify(id, leave));
}

TEST(cc_profile_store, built_in_profile_is_read_only)
{
    const session::profile_limits limits;
    cc_profile_store store{limits, {.nscc = true, .config = constants}};
    EXPECT_EQ(store.find(0).state, session::profile_state::online);
    EXPECT_TRUE(store.acquire(0));
    EXPECT_EQ(code_of(store.modify(0, {.state = offline})), EINVAL);
    EXPECT_EQ(code_of(store.modify(0, {.config = constants})), EINVAL);
}

TEST(cc_profile_store, as_many_as_the_limit_says)
{
    const session::profile_limits limits{.cc_profiles = 1};
    cc_profile_store store = store_in(limits, offline);
    EXPECT_EQ(code_of(store.modify(8, {.state = offline, .algorithm = nscc})), EIO);
}

struct constant_row {
    std::string_view name; // in the refusal; empty: right
    std::function<void(session::nscc_values &)> set;
};

TEST(cc_profile_store, constants_have_ranges)
{
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const constant_row table[] = {
        {"", [](session::nscc_values &) {}},
        {"", [](session::nscc_values &v) { v.max_cwnd = 0; }},
        {"", [](session::nscc_values &v) { v.qa_gate = 31; }},
        {"", [](session::nscc_values &v) { v.base_rtt = 8'000'000; }},
        {"adjust_bytes_threshold", [](session::nscc_values &v) { v.adjust_bytes_threshold = 0; }},
        {"adjust_period_threshold", [](session::nscc_values &v) { v.adjust_period_threshold = 0; }},
        {"base_rtt", [](session::nscc_values &v) { v.base_rtt = 0; }},
        {"base_rtt", [](session::nscc_values &v) { v.base_rtt = 8'000'001; }},
        {"max_cwnd", [](session::nscc_values &v) { v.max_cwnd = 255; }},
        {"target_delay", [](session::nscc_values &v) { v.target_delay = 0; }},
        {"qa_gate", [](session::nscc_values &v) { v.qa_gate = 32; }},
        {"eta", [](session::nscc_values &v) { v.eta = -1; }},
        {"fi", [=](session::nscc_values &v) { v.fi = nan; }},
        {"fi_scale", [=](session::nscc_values &v) { v.fi_scale = infinity; }},
        {"gamma", [](session::nscc_values &v) { v.gamma = 1.01F; }},
        {"max_md_jump", [](session::nscc_values &v) { v.max_md_jump = 2; }},
    };
    for (const auto &[name, set] : table) {
        session::nscc_values values = constants;
        set(values);
        const auto result = check(values);
        EXPECT_EQ(result.has_value(), name.empty()) << name;
        if (!result) {
            EXPECT_TRUE(result.error().text.starts_with(name)) << result.error().text;
        }
    }
}

TEST(cc_profile_store, constants_pass_through_the_protocol_and_back)
{
    session::nscc_values values = constants;
    values.disable_qa = 1;
    values.base_rtt = 20'000;
    values.target_delay = 9'000;
    values.max_cwnd = 123'456;
    values.qa_gate = 5;
    values.gamma = 0.25F;
    const protocol::nscc_config config = to_nscc_config(values, {});
    EXPECT_EQ(to_nscc_values(config), values);
    EXPECT_GT(config.alpha, 0);
    EXPECT_GT(config.mtu, 0U);
}

} // namespace
} // namespace mrc::service::control
