// SPDX-License-Identifier: Apache-2.0
#include "datapath/read_ahead.h"

#include <algorithm>
#include <cstring>

namespace mrc::datapath
{

bool read_ahead::read(const kernel::process_memory &process, std::uint64_t address, std::span<std::byte> to,
                      std::uint64_t followed_by) noexcept
{
    if (take(process, address, to))
        return true;
    const std::uint64_t wanted = std::min({to.size() + followed_by, expected_, std::uint64_t{most_bytes}});
    if (wanted <= to.size())
        return process.read(address, to);
    held_ = {.process = &process,
             .address = address,
             .bytes = process.read_some(address, {bytes_.get(), static_cast<std::size_t>(wanted)})};
    return take(process, address, to);
}

bool read_ahead::take(const kernel::process_memory &process, std::uint64_t address,
                      std::span<std::byte> to) const noexcept
{
    if (held_.process != &process || address < held_.address || address - held_.address > held_.bytes ||
        to.size() > held_.bytes - (address - held_.address))
        return false;
    std::memcpy(to.data(), bytes_.get() + (address - held_.address), to.size());
    return true;
}

} // namespace mrc::datapath
