// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/packet_memory.h"

#include <cerrno>
#include <fstream>
#include <string>

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "kernel/unique_fd.h"

namespace mrc::kernel::probes
{

namespace
{

mapping map_memory(std::size_t bytes, int flags)
{
    void *address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return address == MAP_FAILED ? mapping{} : mapping{address, bytes};
}

std::string limit_text()
{
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY)
        return "the limit is unlimited";
    return "the limit is " + std::to_string(limit.rlim_cur >> 10U) + " KiB";
}

} // namespace

// The kernel reserves huge pages when they are mapped; to write them is not needed.
attempt try_huge_pages(std::size_t bytes)
{
    const mapping memory = map_memory(bytes, MAP_HUGETLB);
    return memory ? worked() : refused(errno);
}

attempt try_locked_memory(std::size_t bytes)
{
    constexpr std::uint32_t frame_bytes = 4096;
    const mapping memory = map_memory(bytes, 0);
    const unique_fd socket{::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)};
    if (!memory || !socket)
        return refused(errno, memory ? "no AF_XDP sockets" : "no memory");
    xdp_umem_reg area{};
    area.addr = reinterpret_cast<std::uintptr_t>(memory.get());
    area.len = memory.size();
    area.chunk_size = frame_bytes;
    if (::setsockopt(socket.get(), SOL_XDP, XDP_UMEM_REG, &area, sizeof(area)) != 0)
        return refused(errno, limit_text());
    return worked();
}

std::uint64_t configured_huge_pages()
{
    std::uint64_t pages = 0;
    std::ifstream{"/proc/sys/vm/nr_hugepages"} >> pages;
    return pages;
}

} // namespace mrc::kernel::probes
