// SPDX-License-Identifier: Apache-2.0
#include "service/control/peer_capability.h"

#include <array>
#include <cerrno>
#include <string>

#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace mrc::service::control
{
namespace
{

TEST(peer_capability, reads_the_effective_set)
{
    EXPECT_TRUE(has_net_admin("Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000001000\nCapBnd:\t0\n"));
    EXPECT_TRUE(has_net_admin("Name:\tx\nCapEff:\t000001ffffffffff\n"));
    EXPECT_FALSE(has_net_admin("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000000000\n"));
    EXPECT_FALSE(has_net_admin("Name:\tx\nCapEff:\t000001ffffffefff\n"));
    EXPECT_FALSE(has_net_admin("Name:\tCapEff:\t000001ffffffffff\n")); // in the name, which the caller chooses
    EXPECT_FALSE(has_net_admin("CapEff:\n"));
    EXPECT_FALSE(has_net_admin("Name:\tx\nCapEff:\tzz\n"));
    EXPECT_FALSE(has_net_admin(""));
}

TEST(peer_capability, reads_the_start_time)
{
    EXPECT_EQ(start_ticks("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"), 4711U);
    EXPECT_EQ(start_ticks("12 (a) S 1 2"), 0U);
    EXPECT_EQ(start_ticks(""), 0U);
}

enum class rights { all, none, of_another_namespace };

// Connects to us with or without its capabilities, then waits to be let go.
class connected_child
{
public:
    explicit connected_child(rights has)
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX; // a name of the kernel's choice
        listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr *>(&address), sizeof(address.sun_family)), 0);
        EXPECT_EQ(::listen(listener_, 1), 0);
        socklen_t size = sizeof(address);
        EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr *>(&address), &size), 0);
        pid_ = ::fork();
        if (pid_ == 0)
            run(address, size, has);
        socket_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        char ready = 0;
        EXPECT_EQ(::read(socket_, &ready, 1), 1);
    }
    connected_child(const connected_child &) = delete;
    connected_child &operator=(const connected_child &) = delete;
    ~connected_child()
    {
        end();
        ::close(socket_);
        ::close(listener_);
    }

    void end()
    {
        if (pid_ <= 0)
            return;
        EXPECT_EQ(::write(socket_, "x", 1), 1);
        EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
        pid_ = 0;
    }
    [[nodiscard]] int socket() const { return socket_; }

private:
    [[noreturn]] static void run(const sockaddr_un &address, socklen_t size, rights has)
    {
        const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        bool right = ::connect(fd, reinterpret_cast<const sockaddr *>(&address), size) == 0;
        if (has == rights::of_another_namespace)
            right = right && ::unshare(CLONE_NEWUSER) == 0;
        if (has == rights::none) { // permitted and inheritable stay: only the effective set counts
            __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
            std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
            right = right && ::syscall(SYS_capget, &header, sets.data()) == 0;
            sets[0].effective = sets[1].effective = 0;
            right = right && ::syscall(SYS_capset, &header, sets.data()) == 0;
        }
        char go = 0;
        right = right && ::write(fd, "r", 1) == 1 && ::read(fd, &go, 1) == 1;
        ::_exit(right ? 0 : 1);
    }

    int listener_ = -1;
    int socket_ = -1;
    pid_t pid_ = 0;
};

TEST(peer_capability, asks_the_process_that_connected)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root: a capability to have";
    connected_child capable{rights::all};
    const auto allowed = check_net_admin(capable.socket(), 0);
    EXPECT_TRUE(allowed) << allowed.error().text;
    connected_child plain{rights::none};
    const auto refused = check_net_admin(plain.socket(), 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EPERM);
    EXPECT_TRUE(refused.error().text.ends_with("lacks CAP_NET_ADMIN")) << refused.error().text;
}

// It has every capability, but over that namespace only.
TEST(peer_capability, refuses_another_user_namespace)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root: a user namespace of its own";
    connected_child child{rights::of_another_namespace};
    const auto refused = check_net_admin(child.socket(), 0);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().text.ends_with("in another user namespace")) << refused.error().text;
}

TEST(peer_capability, refuses_one_that_has_gone)
{
    connected_child child{rights::all};
    child.end();
    const auto refused = check_net_admin(child.socket(), 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EPERM);
    EXPECT_TRUE(refused.error().text.ends_with("has gone")) << refused.error().text;
}

TEST(peer_capability, refuses_what_is_no_unix_socket)
{
    const auto refused = check_net_admin(-1, 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EPERM);
}

} // namespace
} // namespace mrc::service::control
