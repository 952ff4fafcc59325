// SPDX-License-Identifier: Apache-2.0
// Parts of libmrc that no verbs call shows whole: which daemons are found, GID tables, values, many threads.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/control_line.h"
#include "client/daemon_socket.h"
#include "client/instances.h"
#include "client/session_source.h"
#include "client/verbs/device_lists.h"
#include "client/verbs/objects.h"
#include "fake_daemon.h"
#include "mrc/control.h"
#include "session/session_protocol.h"

namespace
{

using namespace mrc::client; // NOLINT(google-build-using-namespace): the test is about all of it

// A folder like /run/mrc.
class run_folder
{
public:
    run_folder()
    {
        std::string name = std::filesystem::temp_directory_path() / "mrc-instances-XXXXXX";
        path_ = ::mkdtemp(name.data());
    }
    ~run_folder() { std::filesystem::remove_all(path_); }
    run_folder(const run_folder &) = delete;
    run_folder &operator=(const run_folder &) = delete;

    [[nodiscard]] const std::string &path() const { return path_; }

    void add_folder(const std::string &name) const { std::filesystem::create_directory(path_ + "/" + name); }

    void add_daemon(const std::string &name) const { (void)bound(name); } // that has ended

    // A daemon that is stopped: connections are made, and nobody answers.
    void add_listener(const std::string &name) { listener_ = listening(name, 8); }
    // A daemon that the test answers for.
    [[nodiscard]] mrc::kernel::unique_fd listening(const std::string &name, int backlog) const
    {
        mrc::kernel::unique_fd listener = bound(name);
        set_patience(listener, std::chrono::seconds{10});
        EXPECT_EQ(::listen(listener.get(), backlog), 0);
        return listener;
    }

private:
    [[nodiscard]] mrc::kernel::unique_fd bound(const std::string &name) const
    {
        add_folder(name);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string socket = path_ + "/" + name + "/mrcd.sock";
        EXPECT_LT(socket.size(), sizeof(address.sun_path));
        std::memcpy(address.sun_path, socket.c_str(), std::min(socket.size(), sizeof(address.sun_path) - 1));
        mrc::kernel::unique_fd fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
        EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0);
        return fd;
    }

public:
    [[nodiscard]] std::string find(const char *names) const
    {
        std::string found;
        for (const daemon_instance &each : find_instances_under(path_, names)) {
            EXPECT_TRUE(each.socket.empty() || each.socket == path_ + "/" + each.name + "/mrcd.sock");
            found += each.name + " ";
        }
        return found;
    }

private:
    std::string path_;
    mrc::kernel::unique_fd listener_;
};

TEST(instances, all_in_name_order)
{
    const run_folder run;
    EXPECT_EQ(run.find(nullptr), "");
    run.add_daemon("lab-h1");
    run.add_daemon("default");
    run.add_folder("empty");
    EXPECT_EQ(run.find(nullptr), "default lab-h1 ");
    EXPECT_EQ(run.find(""), "default lab-h1 ");
    EXPECT_TRUE(find_instances_under(run.path() + "/nowhere", nullptr).empty());
}

TEST(instances, those_named_in_the_order_given)
{
    const run_folder run;
    run.add_daemon("a");
    run.add_daemon("b");
    run.add_folder("empty");
    EXPECT_EQ(run.find("b,a"), "b a ");
    EXPECT_EQ(run.find("a"), "a ");
    EXPECT_EQ(run.find("b,missing,empty,,b"), "b missing empty "); // connecting tells what is wrong
}

TEST(instances, what_is_no_name_is_told_and_not_looked_for)
{
    const run_folder run;
    run.add_daemon("a");
    for (const char *list : {",", ",,", "../a", ".", "..", "a/"}) {
        const auto found = find_instances_under(run.path(), list);
        ASSERT_EQ(found.size(), 1) << list;
        EXPECT_TRUE(found[0].is_named);
        const auto hosts = describe_instances(found, std::chrono::milliseconds{20});
        ASSERT_FALSE(hosts.at(0)) << list;
        EXPECT_EQ(hosts[0].error().code, EINVAL) << list;
        EXPECT_NE(hosts[0].error().text.find(list), std::string::npos) << hosts[0].error().text;
    }
    EXPECT_EQ(run.find("a,../a,"), "a ../a ") << "the others are still there";
}

TEST(listing, a_stopped_daemon_does_not_delay_the_others)
{
    run_folder run;
    run.add_listener("stopped"); // has its socket, and accepts nobody
    const auto hosts =
        describe_instances(find_instances_under(run.path(), "stopped,missing"), std::chrono::milliseconds{20});
    ASSERT_EQ(hosts.size(), 2);
    ASSERT_FALSE(hosts[0] || hosts[1]);
    EXPECT_EQ(hosts[0].error().code, ETIMEDOUT);
    EXPECT_NE(hosts[0].error().text.find("does not answer"), std::string::npos);
    EXPECT_EQ(hosts[1].error().code, ENOENT);
}

TEST(listing, a_daemon_that_is_not_there_is_missing_only_when_it_is_named)
{
    fake_reset();
    fake_refuse(ENOENT);
    int count = -1;
    ibv_device **list = get_device_list(&count, {});
    EXPECT_NE(list, nullptr);
    EXPECT_EQ(count, 0);
    EXPECT_STREQ(mrc_failure_text(), "");
    free_device_list(list, {});
    fake_name_instances();
    fake_refuse(ENOENT);
    EXPECT_EQ(get_device_list(&count, {}), nullptr);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_STREQ(mrc_failure_text(), "instance a: as the test asked");
    fake_reset();
}

// Of a daemon that serves many, the queue may be full at the moment.
TEST(listing, a_running_daemon_with_a_full_queue_is_waited_for)
{
    run_folder run;
    const auto busy = run.listening("busy", 0);
    const auto other = run.listening("other", 8);
    const auto all = find_instances_under(run.path(), "busy,other");
    const auto first = connect_to(all[0], std::chrono::seconds{10});
    ASSERT_TRUE(first) << "one waits, and no other may";
    const auto accept_and_answer = [](const mrc::kernel::unique_fd &listener) {
        const mrc::kernel::unique_fd client{::accept(listener.get(), nullptr, nullptr)};
        mrc::session::session_request request;
        if (::recv(client.get(), &request, sizeof(request), 0) > 0) {
            const mrc::session::session_reply reply{};
            (void)::send(client.get(), &reply, sizeof(reply), MSG_NOSIGNAL);
        }
    };
    std::jthread daemons{[&] {
        accept_and_answer(other); // by now the busy one has been tried
        const mrc::kernel::unique_fd gone{::accept(busy.get(), nullptr, nullptr)};
        accept_and_answer(busy);
    }};
    const auto hosts = describe_instances(all, std::chrono::seconds{10});
    EXPECT_TRUE(hosts.at(0)) << hosts[0].error().text;
    EXPECT_TRUE(hosts.at(1));
}

TEST(listing, opening_a_stopped_daemon_times_out)
{
    run_folder run;
    run.add_listener("stopped");
    const auto line =
        control_line::open(find_instances_under(run.path(), nullptr).at(0), std::chrono::milliseconds{20});
    ASSERT_TRUE(line); // the kernel connects
    const auto reply = line->control(std::as_bytes(std::span{"any request"}));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ETIMEDOUT);
}

TEST(listing, devices_that_are_missing_say_why)
{
    for (const int code : {EUSERS, EPROTO, ETIMEDOUT}) {
        fake_reset();
        fake_refuse(code);
        int count = -1;
        errno = 0;
        EXPECT_EQ(get_device_list(&count, {}), nullptr);
        EXPECT_EQ(errno, code);
        EXPECT_EQ(count, 0);
        EXPECT_STREQ(mrc_failure_text(), "instance a: as the test asked");
        fake_daemons(2);
        fake_refuse(code); // one of them: the other is there, and the words are as well
        ibv_device **list = get_device_list(&count, {});
        ASSERT_NE(list, nullptr);
        EXPECT_EQ(count, 1);
        EXPECT_STREQ(mrc_failure_text(), "instance a: as the test asked");
        free_device_list(list, {});
    }
    fake_reset();
    int count = 0;
    ibv_device **list = get_device_list(&count, {});
    EXPECT_EQ(count, 1);
    EXPECT_STREQ(mrc_failure_text(), "") << "nothing is missing";
    EXPECT_EQ(fake_sessions(), 0);
    free_device_list(list, {});
}

TEST(gid_table, addresses_in_pairs_from_index_2_on)
{
    host_description host;
    for (std::uint8_t i = 0; i < 9; ++i)
        host.addresses.push_back(mrc_ip{.bytes = {0xfd, i}});
    EXPECT_EQ(gid_at(host, 2).value_or(mrc_ip{}).bytes[1], 0);
    EXPECT_EQ(gid_at(host, 15).value_or(mrc_ip{}).bytes[1], 6); // the table is full then
    EXPECT_FALSE(gid_at(host, 16));
    EXPECT_FALSE(gid_at(host, -1));
    EXPECT_EQ(gid_index_of(host, mrc_ip{.bytes = {0xfd, 3}}), 8);
    EXPECT_FALSE(gid_index_of(host, mrc_ip{.bytes = {0xfd, 8}}));
    host.addresses.resize(1);
    EXPECT_FALSE(gid_at(host, 4));
}

TEST(verbs_values, mtu_is_never_above_the_payload)
{
    EXPECT_EQ(mtu_not_above(100), IBV_MTU_256);
    EXPECT_EQ(mtu_not_above(511), IBV_MTU_256);
    EXPECT_EQ(mtu_not_above(512), IBV_MTU_512);
    EXPECT_EQ(mtu_not_above(1024), IBV_MTU_1024);
    EXPECT_EQ(mtu_not_above(3072), IBV_MTU_2048);
    EXPECT_EQ(mtu_not_above(4096), IBV_MTU_4096);
}

TEST(verbs_values, addresses_survive_the_way_to_gids_and_back)
{
    const mrc_ip address{.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    EXPECT_TRUE(std::ranges::equal(to_address(to_gid(address)).bytes, address.bytes));
}

TEST(verbs_objects, objects_of_another_library_have_no_device_of_ours)
{
    ibv_device device{};
    ibv_context context{};
    context.device = &device;
    ibv_pd pd{.context = &context, .handle = 5};
    ibv_mr mr{};
    mr.context = &context;
    EXPECT_FALSE(is_virtual(&device));
    EXPECT_FALSE(is_virtual(nullptr));
    EXPECT_EQ(device_of(&context), nullptr);
    EXPECT_EQ(device_of(&pd), nullptr);
    EXPECT_EQ(device_of(&mr), nullptr);
    EXPECT_EQ(device_of(static_cast<const ibv_context *>(nullptr)), nullptr);
    EXPECT_EQ(device_of(static_cast<const ibv_pd *>(nullptr)), nullptr);
    EXPECT_EQ(device_of(static_cast<const ibv_mr *>(nullptr)), nullptr);
    EXPECT_EQ(pd_number(&pd), 0);
}

TEST(verbs_objects, the_session_outlives_the_context)
{
    fake_reset();
    ibv_context *context = verbs::open_device(verbs::reachable_devices().devices.at(0));
    ASSERT_NE(context, nullptr);
    auto daemon = device_of(context)->daemon();
    ibv_pd *pd = verbs::alloc_pd(context);
    EXPECT_NE(pd_number(pd), 0);
    EXPECT_EQ(verbs::dealloc_pd(pd), 0);
    EXPECT_EQ(verbs::close_device(context), 0);
    EXPECT_TRUE(daemon->describe());
    EXPECT_EQ(fake_sessions(), 1);
    daemon.reset();
    EXPECT_EQ(fake_sessions(), 0);
}

TEST(verbs_objects, many_threads_on_one_device)
{
    fake_reset();
    ibv_context *context = verbs::open_device(verbs::reachable_devices().devices.at(0));
    ASSERT_NE(context, nullptr);
    ::fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
    auto work = [&] {
        for (int i = 0; i < 200; ++i) {
            int count = 0;
            ibv_device **list = get_device_list(&count, {});
            EXPECT_EQ(count, 1);
            ibv_pd *pd = verbs::alloc_pd(context);
            ibv_mr *mr = verbs::reg_mr(pd, &count, sizeof(count), 0, 0);
            ibv_async_event event{};
            (void)verbs::get_async_event(context, &event);
            EXPECT_EQ(verbs::dereg_mr(mr), 0);
            EXPECT_EQ(verbs::dealloc_pd(pd), 0);
            fake_port(1, i % 2);
            free_device_list(list, {});
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
        threads.emplace_back(work);
    for (std::thread &each : threads)
        each.join();
    EXPECT_EQ(fake_regions() + fake_domains(), 0);
    EXPECT_EQ(verbs::close_device(context), 0);
}

} // namespace
