// SPDX-License-Identifier: Apache-2.0
#include "service/ports/neighbours.h"

#include "kernel/map_names.h"
#include <gtest/gtest.h>
#include <linux/neighbour.h>

namespace mrc::service
{
namespace
{

constexpr std::uint32_t device = 7;

mrc_ip ip(std::string_view text)
{
    return parse_ip(text).value_or(mrc_ip{});
}

struct row {
    std::string_view address;
    std::string_view mac; // empty: unresolved
    std::uint16_t state = NUD_REACHABLE;
    bool is_router = false;
    std::uint32_t ifindex = device;
};

neighbour_table table_of(std::initializer_list<row> rows)
{
    neighbour_table table;
    for (const auto &row : rows)
        table.update({.ifindex = row.ifindex,
                      .address = ip(row.address),
                      .mac = parse_mac(row.mac),
                      .state = row.state,
                      .is_router = row.is_router});
    return table;
}

std::string text_of(const gateway_state &gateway)
{
    return (gateway.mac ? to_text(*gateway.mac) : std::string{kernel::port_reason_names[gateway.reason]}) +
           (gateway.stale ? " stale" : "");
}

std::string automatic(std::initializer_list<row> rows)
{
    return text_of(table_of(rows).gateway_of(device, automatic_gateway{}));
}

std::string by_address(std::initializer_list<row> rows)
{
    return text_of(table_of(rows).gateway_of(device, ip("fe80::1")));
}

TEST(neighbours, by_address)
{
    EXPECT_EQ(by_address({}), "no_neighbour");
    EXPECT_EQ(by_address({{.address = "fe80::2", .mac = "02:00:00:00:00:02"}}), "no_neighbour");
    EXPECT_EQ(by_address({{.address = "fe80::1", .mac = "02:00:00:00:00:01", .ifindex = 8}}), "no_neighbour");
    EXPECT_EQ(by_address({{.address = "fe80::1", .mac = "02:00:00:00:00:01"}}), "02:00:00:00:00:01");
    EXPECT_EQ(by_address({{.address = "fe80::1", .mac = "", .state = NUD_INCOMPLETE}}), "no_neighbour");
    EXPECT_EQ(by_address({{.address = "fe80::1", .mac = "02:00:00:00:00:01", .state = NUD_FAILED}}), "no_neighbour");
    for (const std::uint16_t state : std::initializer_list<std::uint16_t>{NUD_PERMANENT, NUD_DELAY, NUD_PROBE})
        EXPECT_EQ(by_address({{.address = "fe80::1", .mac = "02:00:00:00:00:01", .state = state}}),
                  "02:00:00:00:00:01");
    EXPECT_EQ(by_address({{.address = "fe80::1", .mac = "02:00:00:00:00:01", .state = NUD_STALE}}),
              "02:00:00:00:00:01 stale");
}

TEST(neighbours, automatic)
{
    EXPECT_EQ(automatic({}), "no_neighbour");
    EXPECT_EQ(automatic({{.address = "10.0.0.1", .mac = "02:00:00:00:00:01"}}), "02:00:00:00:00:01");
    EXPECT_EQ(automatic({{.address = "ff02::2", .mac = "33:33:00:00:00:02", .state = NUD_NOARP}}), "no_neighbour");
    EXPECT_EQ(automatic({{.address = "fe80::1", .mac = "02:00:00:00:00:01"},
                         {.address = "2001:db8::1", .mac = "02:00:00:00:00:01"}}),
              "02:00:00:00:00:01");
    EXPECT_EQ(automatic({{.address = "fe80::1", .mac = "02:00:00:00:00:01"},
                         {.address = "fe80::2", .mac = "02:00:00:00:00:02"}}),
              "several neighbours");
    EXPECT_EQ(automatic({{.address = "fe80::1", .mac = "02:00:00:00:00:01"},
                         {.address = "fe80::2", .mac = "02:00:00:00:00:02", .is_router = true}}),
              "02:00:00:00:00:02");
    EXPECT_EQ(automatic({{.address = "fe80::1", .mac = "02:00:00:00:00:01", .is_router = true},
                         {.address = "fe80::2", .mac = "02:00:00:00:00:02", .is_router = true}}),
              "several neighbours");
    EXPECT_EQ(automatic({{.address = "fe80::1", .mac = "02:00:00:00:00:01"},
                         {.address = "fe80::2", .mac = "02:00:00:00:00:02", .ifindex = 8}}),
              "02:00:00:00:00:01");
}

// One confirmed address of a neighbour is enough.
TEST(neighbours, automatic_is_stale_only_when_every_address_is)
{
    EXPECT_EQ(automatic({{.address = "2001:db8::1", .mac = "02:00:00:00:00:01", .state = NUD_STALE},
                         {.address = "fe80::1", .mac = "02:00:00:00:00:01"}}),
              "02:00:00:00:00:01");
    EXPECT_EQ(automatic({{.address = "2001:db8::1", .mac = "02:00:00:00:00:01", .state = NUD_STALE},
                         {.address = "fe80::1", .mac = "02:00:00:00:00:01", .state = NUD_STALE}}),
              "02:00:00:00:00:01 stale");
}

TEST(neighbours, literal_needs_no_table)
{
    EXPECT_EQ(text_of(table_of({}).gateway_of(device, mac_address{2, 0, 0, 0, 0, 9})), "02:00:00:00:00:09");
}

TEST(neighbours, removed_and_probed)
{
    auto table = table_of({{.address = "fe80::1", .mac = "02:00:00:00:00:01", .state = NUD_STALE}});
    const auto gateway = ip("fe80::1");
    table.mark_probed(device, gateway);
    EXPECT_EQ(text_of(table.gateway_of(device, gateway)), "02:00:00:00:00:01");
    table.remove(device, gateway);
    EXPECT_EQ(text_of(table.gateway_of(device, gateway)), "no_neighbour");
    table = table_of({{.address = "fe80::1", .mac = "02:00:00:00:00:01"}});
    table.remove_device(device);
    EXPECT_EQ(text_of(table.gateway_of(device, gateway)), "no_neighbour");
}

} // namespace
} // namespace mrc::service
