// SPDX-License-Identifier: Apache-2.0
#include "service/service_manager.h"

#include <array>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace mrc::service
{
namespace
{

// A manager's socket with a name in the abstract space, which nobody else has: the process's.
struct listener {
    kernel::unique_fd socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    std::string name = "@mrc-service-manager-test-" + std::to_string(::getpid());

    listener()
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path, sizeof(address.sun_path));
        address.sun_path[0] = '\0';
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), length), 0);
    }
    // Empty: nothing was sent.
    [[nodiscard]] std::string next() const
    {
        std::array<char, 256> room{};
        const ssize_t length = ::recv(socket.get(), room.data(), room.size(), MSG_DONTWAIT);
        return length < 0 ? std::string{} : std::string{room.data(), static_cast<std::size_t>(length)};
    }
};

TEST(service_manager, sends_each_state_in_one_datagram)
{
    const listener manager;
    const service_manager told{{.notify_socket = manager.name.c_str()}};
    told.ready("2 of 2");
    EXPECT_EQ(manager.next(), "READY=1\nSTATUS=2 of 2");
    told.status("1 of 2");
    EXPECT_EQ(manager.next(), "STATUS=1 of 2");
    told.reloading();
    EXPECT_TRUE(manager.next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    told.alive();
    EXPECT_EQ(manager.next(), "WATCHDOG=1");
    told.stopping("ending");
    EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=ending");
    EXPECT_EQ(manager.next(), "");
}

TEST(service_manager, is_silent_without_a_manager)
{
    for (const char *name : {static_cast<const char *>(nullptr), "", "@", "relative/path", "vsock:2:1"}) {
        const service_manager nobody{{.notify_socket = name, .watchdog_usec = "1000"}};
        nobody.ready("");
        EXPECT_FALSE(nobody.watchdog_interval());
    }
}

TEST(service_manager, feeds_its_own_watchdog_only)
{
    const std::string self = std::to_string(::getpid());
    const auto interval = [](const char *usec, const char *pid) {
        return service_manager{{.notify_socket = "/run/notify", .watchdog_usec = usec, .watchdog_pid = pid}}
            .watchdog_interval();
    };
    EXPECT_EQ(interval("10000000", nullptr), std::chrono::seconds{5});
    EXPECT_EQ(interval("10000000", self.c_str()), std::chrono::seconds{5});
    EXPECT_FALSE(interval("10000000", "1"));
    EXPECT_FALSE(interval("10000000", "me"));
    EXPECT_FALSE(interval("0", nullptr));
    EXPECT_FALSE(interval("soon", nullptr));
    EXPECT_FALSE(interval("18446744073709551616", nullptr));
    EXPECT_FALSE(interval(nullptr, nullptr));
}

} // namespace
} // namespace mrc::service
