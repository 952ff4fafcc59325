// SPDX-License-Identifier: Apache-2.0
#include "kernel/process_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "unit/kernel/memory_client.h"

namespace mrc::datapath
{
namespace
{

constexpr std::byte news{0xC3};

bool all_are(const memory_client::sight &seen, std::byte value)
{
    return std::ranges::all_of(seen, [&](std::byte b) { return b == value; });
}

class process_memory_test : public testing::Test
{
protected:
    [[nodiscard]] bool write(std::uint64_t offset, std::size_t bytes = memory_client::look_bytes) const
    {
        return memory->write(client.address() + offset, std::vector<std::byte>(bytes, news));
    }
    [[nodiscard]] bool read(std::uint64_t offset) const
    {
        memory_client::sight into{};
        return memory->read(client.address() + offset, into);
    }

    memory_client client;
    std::shared_ptr<const kernel::process_memory> memory = kernel::process_memory::adopt(client.take_memory()).value();
};

TEST_F(process_memory_test, copies_move_between_two_processes)
{
    EXPECT_TRUE(write(4000, 200)); // across a page
    EXPECT_TRUE(all_are(client.look(4064), news));
    EXPECT_TRUE(all_are(client.look(4200), memory_client::pattern));

    std::array<std::byte, 300> back{};
    ASSERT_TRUE(memory->read(client.address() + 3950, back));
    EXPECT_EQ(back[49], memory_client::pattern);
    EXPECT_EQ(back[50], news);
    EXPECT_EQ(back[249], news);
    EXPECT_EQ(back[250], memory_client::pattern);
}

TEST_F(process_memory_test, a_fork_of_the_client_keeps_its_own_bytes)
{
    client.fork_one();

    ASSERT_TRUE(write(8192));
    EXPECT_TRUE(all_are(client.look(8192), news));
    EXPECT_TRUE(all_are(client.look(8192, memory_client::who::its_fork), memory_client::pattern));
}

TEST_F(process_memory_test, unmapped_memory_fails_also_when_only_the_end_is)
{
    client.unmap(4096, 4096);

    EXPECT_FALSE(write(4096));
    EXPECT_FALSE(read(4096));
    EXPECT_FALSE(write(4064)); // the second half is gone
    EXPECT_FALSE(read(4064));
    EXPECT_TRUE(write(8192));
}

TEST_F(process_memory_test, not_one_byte_reaches_a_program_executed_over_the_client)
{
    ASSERT_TRUE(write(0));
    ASSERT_TRUE(client.execute()); // has memory at the very same address

    EXPECT_FALSE(write(0));
    EXPECT_FALSE(read(0));
    EXPECT_TRUE(all_are(client.look(0), std::byte{0}));
}

TEST_F(process_memory_test, memory_of_a_process_that_ended_fails)
{
    client.finish();

    EXPECT_FALSE(write(0));
    EXPECT_FALSE(read(0));
}

TEST_F(process_memory_test, no_addresses_beyond_user_space)
{
    std::array<std::byte, 8> bytes{};
    EXPECT_FALSE(memory->write(0, bytes));
    EXPECT_FALSE(memory->read(0x7FFF'FFFF'FFFF'FFF8, bytes));
    EXPECT_FALSE(memory->write(0xFFFF'8880'0000'0000, bytes));
}

std::string refusal(int fd)
{
    const auto adopted = kernel::process_memory::adopt(kernel::unique_fd{fd});
    return adopted ? std::string{} : adopted.error().text;
}

TEST(process_memory_adopt_test, takes_only_memory_files_opened_for_both)
{
    constexpr auto other_file = "must be its /proc/self/mem";
    constexpr auto other_mode = "must be opened O_RDWR";
    EXPECT_EQ(refusal(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)), "");
    EXPECT_EQ(refusal(::open("/proc/thread-self/mem", O_RDWR | O_CLOEXEC)), "");
    EXPECT_NE(refusal(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)).find(other_mode), std::string::npos);
    EXPECT_NE(refusal(::open("/proc/self/mem", O_WRONLY | O_CLOEXEC)).find(other_mode), std::string::npos);
    EXPECT_NE(refusal(::open("/proc/self/mem", O_PATH | O_CLOEXEC)).find(other_mode), std::string::npos);
    EXPECT_NE(refusal(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)).find(other_file), std::string::npos);
    EXPECT_NE(refusal(::open("/proc/self/comm", O_RDWR | O_CLOEXEC)).find(other_file), std::string::npos);
    EXPECT_NE(refusal(::open("/dev/zero", O_RDWR | O_CLOEXEC)).find(other_file), std::string::npos);
    EXPECT_NE(refusal(::eventfd(0, EFD_CLOEXEC)).find(other_file), std::string::npos);
    EXPECT_NE(refusal(::memfd_create("mem", MFD_CLOEXEC)).find(other_file), std::string::npos);
    EXPECT_NE(refusal(-1).find(other_file), std::string::npos);
}

TEST(process_memory_adopt_test, takes_no_file_that_only_has_the_name)
{
    std::string place = testing::TempDir() + "mrc-mem-XXXXXX";
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    const std::string number = place + "/12";
    ASSERT_EQ(::mkdir(number.c_str(), 0700), 0);
    const std::string file = number + "/mem";

    EXPECT_NE(refusal(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)), "");

    ::unlink(file.c_str());
    ::rmdir(number.c_str());
    ::rmdir(place.c_str());
}

// process_vm_writev would wait here for as long as the client likes.
TEST(process_memory_adopt_test, pages_that_a_userfaultfd_holds_back_fail_and_do_not_block)
{
    const kernel::unique_fd faults{static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC))};
    if (!faults)
        GTEST_SKIP() << "userfaultfd that sees the kernel's faults: " << std::strerror(errno);
    const kernel::mapping pages{::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                                4096};
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    ASSERT_EQ(::ioctl(faults.get(), UFFDIO_API, &api), 0);
    const auto address = reinterpret_cast<std::uintptr_t>(pages.get());
    uffdio_register range{.range = {.start = address, .len = 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING, .ioctls = 0};
    ASSERT_EQ(::ioctl(faults.get(), UFFDIO_REGISTER, &range), 0);

    const auto memory =
        kernel::process_memory::adopt(kernel::unique_fd{::open("/proc/self/mem", O_RDWR | O_CLOEXEC)}).value();
    memory_client::sight bytes{};
    EXPECT_FALSE(memory->write(address, bytes));
    EXPECT_FALSE(memory->read(address, bytes));
}

} // namespace
} // namespace mrc::datapath

int main(int argc, char **argv)
{
    using mrc::datapath::memory_client;
    if (argc == 4 && std::string_view{argv[1]} == memory_client::after_exec_option)
        return memory_client::after_exec(argv + 2);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
