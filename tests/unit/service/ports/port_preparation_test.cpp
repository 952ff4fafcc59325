// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_preparation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include <gtest/gtest.h>
#include <unistd.h>

#include "../log_text.h"
#include "kernel/startup_error.h"
#include "mrc/abi/maps.h"

namespace mrc::service
{
namespace
{

using values = std::vector<std::uint32_t>;
using table = values;

// NICs of drivers that are not at hand.
struct nic {
    int ifindex = 1;
    std::string driver{};
    values channels{0, 0, 0}; // of receive, of transmit, combined
    table rss{};
    values checksum{1};
    bool takes_table = true;
    bool takes_channels = true;
};

class nics final : public device_settings
{
public:
    std::map<std::string, nic> by_name;

    [[nodiscard]] int ifindex_of(const std::string &device) const override
    {
        return by_name.contains(device) ? by_name.at(device).ifindex : 0;
    }
    [[nodiscard]] std::string driver_of(const std::string &device) const override { return by_name.at(device).driver; }
    [[nodiscard]] std::uint32_t receive_queues(const std::string &device) const override
    {
        return by_name.at(device).channels[0] + by_name.at(device).channels[2];
    }
    [[nodiscard]] values values_of(device_setting what, const std::string &device) const override
    {
        const nic &of = by_name.at(device);
        return what == device_setting::rss_table  ? of.rss
               : what == device_setting::channels ? of.channels
                                                  : of.checksum;
    }
    [[nodiscard]] bool set(device_setting what, const std::string &device, std::span<const std::uint32_t> to) override
    {
        nic &of = by_name.at(device);
        const bool takes = what == device_setting::rss_table  ? of.takes_table
                           : what == device_setting::channels ? of.takes_channels
                                                              : true;
        values &own = what == device_setting::rss_table  ? of.rss
                      : what == device_setting::channels ? of.channels
                                                         : of.checksum;
        if (takes)
            own.assign(to.begin(), to.end());
        return takes;
    }
};

table spread(std::size_t entries, std::uint32_t queues)
{
    table all(entries);
    for (std::size_t i = 0; i < entries; ++i)
        all[i] = static_cast<std::uint32_t>(i % queues);
    return all;
}

constexpr std::size_t entries = 128;
const nic of_table{.channels = {0, 0, 32}, .rss = spread(entries, 32)};
const nic of_channels{.channels = {20, 1, 0}};
const values few{MRC_MAX_QUEUES, 1, 0};
const nic of_veth{.driver = "veth", .channels = {1, 1, 0}};

class port_preparation_of : public testing::Test
{
protected:
    port_preparation_of()
    {
        std::string name = "/tmp/mrc-port-preparation-XXXXXX";
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        top_ = name;
        config_.daemon.socket = folder() / "mrcd.sock";
        user_.uid = ::geteuid();
        user_.gid = ::getegid();
    }
    ~port_preparation_of() override { std::filesystem::remove_all(top_); }

    [[nodiscard]] std::filesystem::path folder() const { return top_ / "default"; }
    [[nodiscard]] std::filesystem::path record() const { return folder() / "mrcd.ports"; }
    nic &operator[](const std::string &device) { return nics_.by_name.at(device); }
    void add_port(const std::string &device, const nic &has)
    {
        nics_.by_name[device] = has;
        port_options port;
        port.device = device;
        config_.ports.push_back(port);
    }
    void start() { running_ = std::make_unique<port_preparation>(config_, has_overlay_, user_, nics_); }
    void end() { running_.reset(); }
    // Nothing is put back.
    void kill()
    {
        const auto as_they_are = nics_.by_name;
        const std::string text = kept();
        end();
        nics_.by_name = as_they_are;
        keep(text);
    }
    [[nodiscard]] std::string kept() const
    {
        std::ifstream file{record()};
        return {std::istreambuf_iterator<char>{file}, {}};
    }
    void keep(const std::string &text) const
    {
        std::filesystem::create_directories(folder());
        std::ofstream{record()} << text;
    }

    std::filesystem::path top_;
    daemon_config config_;
    bool has_overlay_ = false;
    kernel::user_identity user_;
    nics nics_;
    std::unique_ptr<port_preparation> running_;
};

TEST_F(port_preparation_of, rss_keeps_to_queues_with_sockets_and_is_put_back)
{
    add_port("eth0", of_table);
    start();
    EXPECT_EQ((*this)["eth0"].rss, spread(entries, MRC_MAX_QUEUES));
    EXPECT_EQ((*this)["eth0"].channels, of_table.channels) << "no link goes down for it";
    end();
    EXPECT_EQ((*this)["eth0"].rss, of_table.rss);
    EXPECT_FALSE(std::filesystem::exists(folder())) << "nothing is left";
}

TEST_F(port_preparation_of, without_a_table_that_can_be_set_there_are_fewer_channels)
{
    add_port("eth0", of_channels);
    nic stubborn = of_table;
    stubborn.takes_table = false;
    add_port("eth1", stubborn);
    start();
    EXPECT_EQ((*this)["eth0"].channels, few);
    EXPECT_EQ((*this)["eth1"].channels[2], MRC_MAX_QUEUES);
    end();
    EXPECT_EQ((*this)["eth0"].channels, of_channels.channels);
    EXPECT_EQ((*this)["eth1"].channels, stubborn.channels);
}

TEST_F(port_preparation_of, a_port_that_can_neither_is_refused_and_the_others_are_put_back)
{
    add_port("eth0", of_channels);
    nic fixed = of_table;
    fixed.takes_table = fixed.takes_channels = false;
    add_port("eth1", fixed);
    EXPECT_THROW(start(), kernel::startup_error);
    EXPECT_EQ((*this)["eth0"].channels, of_channels.channels);
    EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(port_preparation_of, the_next_after_a_kill_puts_back_what_was_there_before_the_first)
{
    add_port("eth0", of_table);
    add_port("eth1", of_channels);
    start();
    kill();
    EXPECT_EQ((*this)["eth1"].channels, few) << "a kill leaves it";
    start();
    kill();
    start();
    EXPECT_EQ((*this)["eth0"].rss, spread(entries, MRC_MAX_QUEUES));
    end();
    EXPECT_EQ((*this)["eth0"].rss, of_table.rss);
    EXPECT_EQ((*this)["eth1"].channels, of_channels.channels);
}

TEST_F(port_preparation_of, the_next_that_limits_nothing_puts_back_at_once)
{
    add_port("eth0", of_table);
    add_port("eth1", of_channels);
    start();
    kill();
    config_.ports[0].queues = MRC_MAX_QUEUES; // somebody sees to it
    config_.ports.pop_back();
    start();
    EXPECT_EQ((*this)["eth0"].rss, of_table.rss);
    EXPECT_EQ((*this)["eth1"].channels, of_channels.channels);
    EXPECT_FALSE(std::filesystem::exists(record()));
}

TEST_F(port_preparation_of, what_somebody_has_set_since_the_kill_stays)
{
    add_port("eth0", of_table);
    add_port("eth1", of_channels);
    start();
    kill();
    (*this)["eth0"].rss = spread(entries, 2);
    (*this)["eth1"].ifindex = 7; // another device of its name
    start();
    end();
    EXPECT_EQ((*this)["eth0"].rss, spread(entries, 2));
    EXPECT_EQ((*this)["eth1"].channels, few);
}

TEST_F(port_preparation_of, killed_between_word_and_deed)
{
    add_port("eth0", of_table);
    start();
    kill();
    (*this)["eth0"].rss = of_table.rss;
    start();
    end();
    EXPECT_EQ((*this)["eth0"].rss, of_table.rss);
}

TEST_F(port_preparation_of, checksums_of_the_overlay_are_not_left_to_a_veth)
{
    has_overlay_ = true;
    add_port("veth0", of_veth);
    add_port("eth0", of_channels);
    start();
    EXPECT_EQ((*this)["veth0"].checksum, values{0});
    EXPECT_EQ((*this)["eth0"].checksum, values{1}) << "a NIC computes them";
    kill();
    EXPECT_EQ((*this)["veth0"].checksum, values{0});
    start();
    end();
    EXPECT_EQ((*this)["veth0"].checksum, values{1});
}

TEST_F(port_preparation_of, a_veth_whose_checksums_the_kernel_computes_already_stays_so)
{
    has_overlay_ = true;
    add_port("veth0", of_veth);
    (*this)["veth0"].checksum = {0};
    start();
    EXPECT_FALSE(std::filesystem::exists(record()));
    end();
    EXPECT_EQ((*this)["veth0"].checksum, values{0});
}

TEST_F(port_preparation_of, without_an_overlay_checksums_stay_as_they_are)
{
    add_port("veth0", of_veth);
    start();
    EXPECT_EQ((*this)["veth0"].checksum, values{1});
}

TEST_F(port_preparation_of, what_comes_later_is_prepared_as_the_others)
{
    has_overlay_ = true;
    port_options late;
    late.device = "veth1";
    config_.ports.push_back(late);
    start();
    nics_.by_name["veth1"] = of_veth;
    running_->prepare(late, MRC_MAX_QUEUES);
    EXPECT_EQ((*this)["veth1"].checksum, values{0});
    end();
    EXPECT_EQ((*this)["veth1"].checksum, values{1});
}

TEST_F(port_preparation_of, a_record_that_cannot_be_read_changes_nothing_and_is_named)
{
    for (const std::string text : {"", "channels eth1 1 3 20 1 0 16 1 0\n", "netns x\n"}) {
        keep(text);
        const test::log_text said;
        start();
        EXPECT_EQ(said.count("whose network namespace"), 1U) << text;
        end();
    }
    add_port("eth1", of_channels);
    (*this)["eth1"].channels = few;
    for (const std::string line :
         {"channels eth1 1 3 20 1 0 16 1", "channels eth1 1 3 20 1 0 16 1 0 9", "channels eth1 1 2 20 1 16 1",
          "checksum eth1 1 0", "checksum eth1 1 2 1 1 0 0", "table eth1 1 0", "table eth1 1 4000000000 1",
          "table eth1 1 2 0 1 0", "rings eth1 1 1 1 0", ""}) {
        keep("netns 0\nchannels eth1 1 3 20 1 0 16 1 0\n" + line + "\n");
        const test::log_text said;
        start();
        EXPECT_EQ(said.count("line 3 is of no setting"), 1U) << line;
        end();
        EXPECT_EQ((*this)["eth1"].channels, few);
    }
}

TEST(setting_record, says_what_it_was_told_in_its_own_network_namespace_only)
{
    const std::vector<setting_change> changes{
        {device_setting::rss_table, "eth0", 2, spread(entries, 32), spread(entries, MRC_MAX_QUEUES)},
        {device_setting::channels, "eth1", 3, of_channels.channels, few},
        {device_setting::transmit_checksum, "veth0", 4, {1}, {0}}};
    EXPECT_EQ(parse_changes(print_changes(changes, 77), 77), changes);
    EXPECT_TRUE(parse_changes(print_changes(changes, 77), 78)->empty());
}

} // namespace
} // namespace mrc::service
