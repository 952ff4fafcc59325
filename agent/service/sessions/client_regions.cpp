// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_regions.h"

#include <cerrno>
#include <string>

#include "service/sessions/random_number.h"

namespace mrc::service
{

answer allocate_pd(session_state &state)
{
    auto held = take(state, resource::protection_domains, 1, state.shared.config.limits.memory_regions);
    if (!held)
        return refuse(ENOSPC, "all protection domains of a user are in use");
    answer result;
    result.reply.number = ++state.last_number;
    state.domains.emplace(result.reply.number, owned_domain{.held = std::move(*held)});
    return result;
}

answer deallocate_pd(session_state &state, std::uint32_t number)
{
    const auto at = state.domains.find(number);
    if (at == state.domains.end())
        return refuse(EINVAL, "no such protection domain in this session");
    if (at->second.users != 0)
        return refuse(EBUSY, "memory or queue pairs use the protection domain");
    state.domains.erase(at);
    return {};
}

namespace
{

std::expected<datapath::client_memory, kernel::memory_error>
reach(const session_state &state, const session::memory_request &request, const kernel::unique_fd &file)
{
    if (file)
        return datapath::map_shared(file, request.offset, request.length);
    if (!state.is_own_program && !state.shared.config.limits.process_memory)
        return std::unexpected{kernel::memory_error{
            EACCES, "memory must be shared with mrcd (limits.process_memory): mrc_alloc_shared, a sealed memfd, or "
                    "libmrc-heap.so"}};
    if (!state.process && !state.is_own_program)
        return std::unexpected{kernel::memory_error{
            EACCES, "the process does not let its memory be opened (it is not dumpable); use shared memory"}};
    if (request.address > INT64_MAX || request.length > INT64_MAX - request.address)
        return std::unexpected{kernel::memory_error{EFAULT, "the range is not a process's memory"}};
    if (state.is_own_program)
        return datapath::client_memory{datapath::own_range{reinterpret_cast<std::byte *>(request.address)},
                                       request.length};
    return datapath::client_memory{state.process, request.address, request.length};
}

} // namespace

answer register_memory(session_state &state, const session::memory_request &request, kernel::unique_fd &file)
{
    const limit_options &limits = state.shared.config.limits;
    const auto domain = state.domains.find(request.pd);
    if (domain == state.domains.end())
        return refuse(EINVAL, "no such protection domain in this session");
    if (request.iova + request.length < request.iova)
        return refuse(EINVAL, "address range wraps");
    if ((request.access & ~std::uint32_t{session::access_remote_write | session::access_local_write}) != 0)
        return refuse(EINVAL, "unknown access flags");
    auto held = take(state, resource::memory_regions, 1, limits.memory_regions);
    if (!held)
        return refuse(ENOMEM, "all " + std::to_string(limits.memory_regions) + " regions of a user are in use");
    auto bytes = take(state, resource::memory_bytes, request.length, limits.memory_bytes);
    if (!bytes)
        return refuse(ENOMEM, "a user may register " + std::to_string(limits.memory_bytes) + " bytes");
    auto memory = reach(state, request, file);
    if (!memory)
        return refuse(memory.error().code, memory.error().text);
    file.reset(); // it is mapped, so it is a memfd, whose close() waits for nobody

    const bool shared = memory->process() == nullptr;
    datapath::memory_region region{.access = request.access,
                                   .domain = {.owner = state.number, .number = request.pd},
                                   .va = request.iova,
                                   .memory = std::move(*memory)};
    const std::uint32_t random = random_number();
    answer result;
    state.worker().call(
        [&] { result.reply.number = state.worker().regions().add(std::move(region), random).value_or(0); });
    if (result.reply.number == 0)
        return refuse(ENOMEM, "all " + std::to_string(datapath::region_table::capacity) + " regions are in use");
    state.regions.emplace(
        result.reply.number,
        owned_region{.pd = request.pd, .held = std::move(*held), .bytes = std::move(*bytes), .shared = shared});
    state.registered_bytes += request.length;
    state.shared_bytes += shared ? request.length : 0;
    ++domain->second.users;
    return result;
}

answer deregister_memory(session_state &state, std::uint32_t key)
{
    const auto at = state.regions.find(key);
    if (at == state.regions.end())
        return refuse(EINVAL, "no such memory key in this session");
    datapath::memory_region gone; // unmapped by this thread
    state.worker().call([&] { gone = state.worker().regions().remove(key); });
    --state.domains.at(at->second.pd).users;
    state.registered_bytes -= at->second.bytes.amount();
    state.shared_bytes -= at->second.shared ? at->second.bytes.amount() : 0;
    state.regions.erase(at);
    return {};
}

void release_regions(session_state &state)
{
    for (const auto &[key, region] : state.regions) {
        datapath::memory_region gone;
        state.worker().call([&] { gone = state.worker().regions().remove(key); });
    }
    state.regions.clear();
    state.registered_bytes = 0;
    state.shared_bytes = 0;
}

} // namespace mrc::service
