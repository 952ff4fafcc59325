// SPDX-License-Identifier: Apache-2.0
// How many use something that stays for a while after the last of them: who comes back soon finds it as it was.
#pragma once

#include <cstddef>
#include <utility>

namespace mrc::service
{

class use_count
{
public:
    void add()
    {
        ++users_;
        seen_unused_ = false;
    }
    void remove() { --users_; }
    [[nodiscard]] bool any() const { return users_ != 0; }
    // To be asked now and then: unused, and so since it was last asked; or, `at_once`, unused now.
    [[nodiscard]] bool is_over(bool at_once) { return !any() && (std::exchange(seen_unused_, true) || at_once); }

private:
    std::size_t users_ = 0;
    bool seen_unused_ = false;
};

} // namespace mrc::service
