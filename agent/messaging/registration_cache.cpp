// SPDX-License-Identifier: Apache-2.0
#include "messaging/registration_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <unistd.h>

namespace mrc::messaging
{

registration_cache::registration_cache(register_function registers, std::size_t limit)
    : registers_{std::move(registers)}, limit_{limit}
{
}

held_range registration_cache::find(const void *address, std::size_t bytes, region_use use)
{
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const auto holds = [&](const held_range &range) {
        return range->begin <= first && first + bytes <= range->end &&
               (range->use == use || range->use == region_use::target);
    };
    if (const auto known = std::ranges::find_if(ranges_, holds); known != ranges_.end()) {
        ranges_.splice(ranges_.begin(), ranges_, known);
        return ranges_.front();
    }
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    registered_range wanted{.begin = first / page * page,
                            .end = (first + bytes + page - 1) / page * page,
                            .use = use,
                            .lkey = 0,
                            .rkey = 0,
                            .owner = {}};
    if (!registers_(wanted))
        return nullptr;
    ++registrations_;
    ranges_.push_front(std::make_shared<const registered_range>(std::move(wanted)));
    drop_oldest();
    return ranges_.front();
}

void registration_cache::drop_oldest()
{
    auto at = ranges_.end();
    while (ranges_.size() > limit_ && at != std::next(ranges_.begin())) {
        --at;
        if (at->use_count() == 1)
            at = ranges_.erase(at);
    }
}

} // namespace mrc::messaging
