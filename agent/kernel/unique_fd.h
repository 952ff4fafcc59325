// SPDX-License-Identifier: Apache-2.0
// Owners of kernel resources: a file descriptor, a memory mapping.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace mrc::kernel
{

// Owns one file descriptor; -1 when empty.
class unique_fd
{
public:
    unique_fd() = default;
    explicit unique_fd(int fd) : fd_{fd} {}
    unique_fd(unique_fd &&other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    unique_fd &operator=(unique_fd &&other) noexcept
    {
        reset(std::exchange(other.fd_, -1));
        return *this;
    }
    unique_fd(const unique_fd &) = delete;
    unique_fd &operator=(const unique_fd &) = delete;
    ~unique_fd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1)
    {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = fd;
    }

private:
    int fd_ = -1;
};

// Owns one mmap()ed range.
class mapping
{
public:
    mapping() = default;
    mapping(void *address, std::size_t bytes) : address_{address}, bytes_{bytes} {}
    mapping(mapping &&other) noexcept
        : address_{std::exchange(other.address_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)}
    {
    }
    mapping &operator=(mapping &&other) noexcept
    {
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    mapping(const mapping &) = delete;
    mapping &operator=(const mapping &) = delete;
    ~mapping()
    {
        if (address_ != nullptr)
            ::munmap(address_, bytes_);
    }

    [[nodiscard]] explicit operator bool() const { return address_ != nullptr; }
    [[nodiscard]] void *get() const { return address_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }
    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte *>(address_), bytes_}; }
    // Of what is large enough; whether there are any is the system's to say: for shared memory,
    // /sys/kernel/mm/transparent_hugepage/shmem_enabled. Nothing is lost where there are none.
    void wish_huge_pages() const
    {
        if (bytes_ >= least_for_huge_pages)
            ::madvise(address_, bytes_, MADV_HUGEPAGE);
    }

private:
    static constexpr std::size_t least_for_huge_pages = 2 << 20;

    void *address_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace mrc::kernel
