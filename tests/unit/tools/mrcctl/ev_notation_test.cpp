// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/ev_notation.h"

#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

TEST(ev_notation, has_the_first_bit_first)
{
    const auto ev = parse_ev("a4@3");
    ASSERT_TRUE(ev);
    EXPECT_EQ(ev->val[0], 0xA4);
    EXPECT_EQ(ev->port, 3);
    EXPECT_EQ(parse_ev("a@1").value().val[0], 0xA0);
    EXPECT_EQ(parse_ev("0FF@255").value().val[1], 0xF0);
}

TEST(ev_notation, is_read_as_it_is_written)
{
    for (const char *text : {"00000000@0", "00000801@2", "fd6d7263000100@7", "000000000000000000000000000000ff@1",
                             "00000000000000000000000000000000000000000000000000000000000000ff@8"})
        EXPECT_EQ(ev_text(parse_ev(text).value()),
                  (std::string_view{text}.starts_with("fd") ? "fd6d72630001@7" : text));
    EXPECT_EQ(ev_text(parse_ev("a4@3").value()), "a4000000@3");
}

TEST(ev_notation, refuses_what_is_not_an_ev)
{
    for (const char *text :
         {"", "@", "@1", "12", "12@", "12@x", "12@256", "1g@1", "0x12@1", "12@1@2", "12@-1", "12 @1"})
        EXPECT_FALSE(parse_ev(text)) << text;
    const auto long_one = parse_ev(std::string(65, '0') + "@1");
    ASSERT_FALSE(long_one);
    EXPECT_NE(long_one.error().find("1 to 64 hexadecimal digits"), std::string::npos);
}

TEST(ev_notation, replaces_one_by_another)
{
    const auto both = parse_replacement("0@0=801@2");
    ASSERT_TRUE(both);
    EXPECT_EQ(ev_text(both->first), "00000000@0");
    EXPECT_EQ(ev_text(both->second), "80100000@2");
    EXPECT_FALSE(parse_replacement("801@2"));
    EXPECT_FALSE(parse_replacement("801@2="));
    EXPECT_FALSE(parse_replacement("=801@2"));
}

TEST(ev_notation, fills_in_what_a_field_leaves_out)
{
    const auto whole = parse_field("width=8");
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->mask, 0xFFU);
    EXPECT_EQ(whole->max_val, 0xFFU);
    EXPECT_EQ(whole->init_val, 0U);
    const auto part = parse_field("mask=0xf0f,width=16,init=0x1000,min=2");
    ASSERT_TRUE(part);
    EXPECT_EQ(part->init_val, 0x1000U);
    EXPECT_EQ(part->min_val, 2U);
    EXPECT_EQ(part->max_val, 0xFFU); // of the mask's eight bits
    EXPECT_EQ(parse_field("width=32").value().mask, 0xFFFFFFFFU);
    EXPECT_EQ(parse_field("width=4,mask=0").value().max_val, 0U);
}

TEST(ev_notation, refuses_fields_without_sense)
{
    for (const char *text : {"", "width", "width=", "width=0", "width=33", "width=x", "mask=3", "width=8,size=1",
                             "width=8,mask=0x100000000", "8"})
        EXPECT_FALSE(parse_field(text)) << text;
}

} // namespace
} // namespace mrc::ctl
