// SPDX-License-Identifier: Apache-2.0
// What a program would see if registration put a shared file in the place of its private memory: five experiments that
// any user may run (docs/performance.md, "Why memory is not adopted"). Each says what is right and what is seen.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "kernel/unique_fd.h"

namespace
{

using mrc::kernel::mapping;
using mrc::kernel::unique_fd;

constexpr std::size_t bytes = 65536;
constexpr std::byte before{0x11};
constexpr std::byte after{0x99};

void need(bool condition, const char *what)
{
    if (condition)
        return;
    std::perror(what);
    std::exit(1);
}

void say(const char *what, const char *right, const std::string &seen)
{
    std::printf("%s\n  right: %s\n  seen:  %s\n", what, right, seen.c_str());
}

std::string value_of(std::byte seen)
{
    return seen == before ? "the old bytes" : seen == after ? "the new bytes" : "zeroes";
}

mapping map(std::size_t length, int flags, int file = -1, off_t offset = 0)
{
    void *at = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, file, offset);
    need(at != MAP_FAILED, "mmap");
    return {at, length};
}

mapping private_memory()
{
    mapping made = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS);
    std::memset(made.get(), static_cast<int>(before), bytes);
    return made;
}

// The same bytes in a memfd, moved over the original: nobody writes in the meantime, here.
void adopt(const mapping &memory)
{
    const unique_fd file{::memfd_create("adopted", MFD_CLOEXEC)};
    need(file && ::ftruncate(file.get(), bytes) == 0, "memfd");
    need(::pwrite(file.get(), memory.get(), bytes, 0) == static_cast<ssize_t>(bytes), "pwrite");
    void *fresh = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    need(fresh != MAP_FAILED, "mmap");
    need(::mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory.get()) == memory.get(), "mremap");
}

std::array<unique_fd, 2> full_pipe()
{
    std::array<int, 2> ends{};
    need(::pipe2(ends.data(), O_CLOEXEC) == 0, "pipe2");
    std::array<std::byte, 64> news{};
    news.fill(after);
    need(::write(ends[1], news.data(), news.size()) == static_cast<ssize_t>(news.size()), "write");
    return {unique_fd{ends[0]}, unique_fd{ends[1]}};
}

// io_uring stands for all that pins pages: other NICs, GPUs, virtual machines. The kernel tells no process which are.
void pinned_pages()
{
    io_uring_params how{};
    const unique_fd ring{static_cast<int>(::syscall(SYS_io_uring_setup, 4, &how))};
    if (!ring) {
        std::printf("pinned pages: not tried, there is no io_uring (%s)\n", std::strerror(errno));
        return;
    }
    const mapping queue =
        map(how.sq_off.array + how.sq_entries * sizeof(unsigned), MAP_SHARED, ring.get(), IORING_OFF_SQ_RING);
    const mapping entries =
        map(how.sq_entries * sizeof(io_uring_sqe), MAP_SHARED, ring.get(), static_cast<off_t>(IORING_OFF_SQES));
    const mapping memory = private_memory();
    const iovec whole{memory.get(), bytes};
    need(::syscall(SYS_io_uring_register, ring.get(), IORING_REGISTER_BUFFERS, &whole, 1) == 0, "register");
    adopt(memory);
    const auto pipe = full_pipe();
    auto &entry = *static_cast<io_uring_sqe *>(entries.get());
    entry.opcode = IORING_OP_READ_FIXED;
    entry.fd = pipe[0].get();
    entry.off = UINT64_MAX;
    entry.addr = reinterpret_cast<std::uintptr_t>(memory.get());
    entry.len = 64;
    auto *const at = static_cast<std::byte *>(queue.get());
    *reinterpret_cast<unsigned *>(at + how.sq_off.array) = 0;
    __atomic_store_n(reinterpret_cast<unsigned *>(at + how.sq_off.tail), 1U, __ATOMIC_RELEASE);
    need(::syscall(SYS_io_uring_enter, ring.get(), 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) == 1, "enter");
    say("pages that the kernel had pinned are read into", "the new bytes", value_of(memory.bytes()[0]));
}

void dropped_pages()
{
    const mapping memory = private_memory();
    adopt(memory);
    need(::madvise(memory.get(), bytes, MADV_DONTNEED) == 0, "madvise");
    say("an allocator drops pages (MADV_DONTNEED) to have them zeroed", "zeroes", value_of(memory.bytes()[0]));
}

// As _Fork(3) and programs with a fork of their own: handlers of pthread_atfork(3), which could copy, do not run.
void forked_process()
{
    const mapping memory = private_memory();
    adopt(memory);
    const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) {
        memory.bytes()[0] = after;
        ::_exit(0);
    }
    need(child > 0 && ::waitpid(child, nullptr, 0) == child, "clone");
    say("a child writes to its own copy; its parent sees", "the old bytes", value_of(memory.bytes()[0]));
}

bool protect_pages(const mapping &memory)
{
    return ::mprotect(memory.get(), bytes, PROT_READ) == 0;
}

unique_fd faults;

// What an unprivileged program may have: faults of its own code only.
bool hold_writes(const mapping &memory)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.get());
    faults = unique_fd{static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY))};
    uffdio_api api{.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP, .ioctls = 0};
    uffdio_register range{.range = {begin, bytes}, .mode = UFFDIO_REGISTER_MODE_WP, .ioctls = 0};
    uffdio_writeprotect hold{.range = {begin, bytes}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    return faults && ::ioctl(faults.get(), UFFDIO_API, &api) == 0 &&
           ::ioctl(faults.get(), UFFDIO_REGISTER, &range) == 0 &&
           ::ioctl(faults.get(), UFFDIO_WRITEPROTECT, &hold) == 0;
}

// While the bytes are copied nothing may change them; this is what another thread's read(2) gets then.
void writing_thread(const char *what, bool (*hold)(const mapping &))
{
    const mapping memory = private_memory();
    const auto pipe = full_pipe();
    need(hold(memory), what);
    std::string seen;
    std::thread{[&] {
        const ssize_t count = ::read(pipe[0].get(), memory.get(), 64);
        seen = count < 0 ? std::strerror(errno) : std::to_string(count) + " bytes";
    }}.join();
    say(what, "64 bytes, late", seen);
}

} // namespace

int main()
{
    pinned_pages();
    dropped_pages();
    forked_process();
    writing_thread("another thread reads a pipe into memory that mprotect(2) holds", protect_pages);
    writing_thread("another thread reads a pipe into memory that userfaultfd(2) holds", hold_writes);
    return 0;
}
