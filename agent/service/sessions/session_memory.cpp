// SPDX-License-Identifier: Apache-2.0
// A client's registered memory.
#include "service/sessions/client_session.h"

namespace mrc::service
{

std::expected<datapath::client_memory, kernel::memory_error>
client_session::reach(const session::memory_request &request, const kernel::unique_fd &file)
{
    if (file)
        return datapath::map_shared(file, request.offset, request.length);
    if (!process_)
        return std::unexpected{kernel::memory_error{
            EACCES, "the process does not let its memory be opened (it is not dumpable); use shared memory"}};
    if (request.address > INT64_MAX || request.length > INT64_MAX - request.address)
        return std::unexpected{kernel::memory_error{EFAULT, "the range is not a process's memory"}};
    return datapath::client_memory{process_, request.address, request.length};
}

client_session::answer client_session::register_memory(const session::memory_request &request, kernel::unique_fd &file)
{
    const limit_options &limits = shared_.config.limits;
    const auto domain = domains_.find(request.pd);
    if (domain == domains_.end())
        return {refuse(EINVAL, "no such protection domain in this session"), {}};
    if (request.iova + request.length < request.iova)
        return {refuse(EINVAL, "address range wraps"), {}};
    if ((request.access & ~std::uint32_t{datapath::access_remote_write | datapath::access_local_write}) != 0)
        return {refuse(EINVAL, "unknown access flags"), {}};
    auto held = take(resource::memory_regions, 1, limits.memory_regions);
    if (!held)
        return {refuse(ENOMEM, "all " + std::to_string(limits.memory_regions) + " regions of a user are in use"), {}};
    auto bytes = take(resource::memory_bytes, request.length, limits.memory_bytes);
    if (!bytes)
        return {refuse(ENOMEM, "a user may register " + std::to_string(limits.memory_bytes) + " bytes"), {}};
    auto memory = reach(request, file);
    if (!memory)
        return {refuse(memory.error().code, memory.error().text), {}};
    file.reset(); // it is mapped, so it is a memfd, whose close() waits for nobody

    datapath::memory_region region{.access = request.access,
                                   .domain = {.owner = number_, .number = request.pd},
                                   .va = request.iova,
                                   .memory = std::move(*memory)};
    const std::uint32_t random = random_word();
    answer result;
    shared_.worker.call(
        [&] { result.reply.number = shared_.worker.regions().add(std::move(region), random).value_or(0); });
    if (result.reply.number == 0)
        return {refuse(ENOMEM, "all " + std::to_string(datapath::region_table::capacity) + " regions are in use"), {}};
    regions_.emplace(result.reply.number,
                     owned_region{.pd = request.pd, .held = std::move(*held), .bytes = std::move(*bytes)});
    ++domain->second.users;
    return result;
}

client_session::answer client_session::deregister_memory(std::uint32_t key)
{
    const auto at = regions_.find(key);
    if (at == regions_.end())
        return {refuse(EINVAL, "no such memory key in this session"), {}};
    datapath::memory_region gone; // unmapped by this thread
    shared_.worker.call([&] { gone = shared_.worker.regions().remove(key); });
    --domains_.at(at->second.pd).users;
    regions_.erase(at);
    return {};
}

} // namespace mrc::service
