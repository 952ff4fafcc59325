// SPDX-License-Identifier: Apache-2.0
// Protection domains and memory regions of a virtual device.
#include <cerrno>
#include <cstdint>
#include <memory>

#include "client/boundary.h"
#include "client/verbs/objects.h"

namespace mrc::client::verbs
{

namespace
{

constexpr unsigned int known_access =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned int unsupported_access =
    IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;

// Bits of ibv_mr_init_attr_mask, which older releases of verbs.h do not have.
constexpr std::uint64_t request_has_iova = 1 << 0;
constexpr std::uint64_t request_has_address = 1 << 1;

result<unsigned int> checked_access(unsigned int asked)
{
    const unsigned int access = asked & ~static_cast<unsigned int>(IBV_ACCESS_OPTIONAL_RANGE); // wishes, not orders
    if ((access & unsupported_access) != 0)
        return refused(EOPNOTSUPP, "memory windows, zero-based, on-demand and huge-page-only regions are not there");
    if ((access & ~known_access) != 0)
        return refused(EINVAL, "unknown access flag");
    constexpr unsigned int remote_changes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if ((access & remote_changes) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0)
        return refused(EINVAL, "remote write access needs local write access");
    return access;
}

result<ibv_mr *> registered(ibv_pd *pd, void *address, std::size_t length, std::uint64_t iova, unsigned int asked)
{
    const device &owner = *device_of(pd);
    if (auto mine = owner.check_owner(); !mine)
        return std::unexpected{mine.error()};
    const auto access = checked_access(asked);
    if (!access)
        return std::unexpected{access.error()};
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    if (length == 0 || begin + length < begin || iova + length < iova)
        return refused(EINVAL, "an empty range, or one beyond the end of memory");
    auto region = std::make_unique<ibv_mr>();
    const auto keys = owner.daemon()->register_memory(pd_number(pd), address, length, iova, *access);
    if (!keys)
        return std::unexpected{keys.error()};
    *region = {.context = pd->context,
               .pd = pd,
               .addr = address,
               .length = length,
               .handle = keys->lkey,
               .lkey = keys->lkey,
               .rkey = keys->rkey};
    return region.release();
}

// What a daemon that has gone knew is gone with it: the caller gets rid of the object all the same.
bool released(const device &owner, const result<void> &answer)
{
    return answer.has_value() || owner.daemon()->gone();
}

} // namespace

ibv_pd *alloc_pd(ibv_context *context) noexcept
{
    return value_or_errno<ibv_pd *>(nullptr, [&]() -> result<ibv_pd *> {
        const device &owner = *device_of(context);
        if (auto mine = owner.check_owner(); !mine)
            return std::unexpected{mine.error()};
        auto domain = std::make_unique<ibv_pd>();
        const auto number = owner.daemon()->allocate_pd();
        if (!number)
            return std::unexpected{number.error()};
        *domain = {.context = context, .handle = *number};
        return domain.release();
    });
}

int dealloc_pd(ibv_pd *pd) noexcept
{
    return code_of([&]() -> result<void> {
        const device &owner = *device_of(pd);
        if (auto mine = owner.check_owner(); !mine)
            return mine;
        if (auto answer = owner.daemon()->deallocate_pd(pd->handle); !released(owner, answer))
            return answer;
        const std::unique_ptr<ibv_pd> memory{pd};
        return {};
    });
}

ibv_mr *reg_mr(ibv_pd *pd, void *address, std::size_t length, std::uint64_t iova, unsigned int access) noexcept
{
    return value_or_errno<ibv_mr *>(nullptr, [&] { return registered(pd, address, length, iova, access); });
}

ibv_mr *reg_mr_ex(ibv_pd *pd, const region_request *request) noexcept
{
    return value_or_errno<ibv_mr *>(nullptr, [&]() -> result<ibv_mr *> {
        if ((request->mask & ~(request_has_iova | request_has_address)) != 0)
            return refused(EOPNOTSUPP, "regions of application memory only");
        if ((request->mask & request_has_address) == 0)
            return refused(EINVAL, "no address");
        const auto iova = (request->mask & request_has_iova) != 0 ? request->iova
                                                                  : reinterpret_cast<std::uintptr_t>(request->address);
        return registered(pd, request->address, request->length, iova, static_cast<unsigned int>(request->access));
    });
}

int dereg_mr(ibv_mr *mr) noexcept
{
    return code_of([&]() -> result<void> {
        const device &owner = *device_of(mr);
        if (auto mine = owner.check_owner(); !mine)
            return mine;
        if (auto answer = owner.daemon()->deregister_memory(mr->lkey); !released(owner, answer))
            return answer;
        const std::unique_ptr<ibv_mr> memory{mr};
        return {};
    });
}

} // namespace mrc::client::verbs
