// SPDX-License-Identifier: Apache-2.0
// Objects of libfabric that others are made on, or bound to: fi_close() of one is -FI_EBUSY until those are closed.
#pragma once

#include <atomic>
#include <utility>

#include <rdma/fi_errno.h>

namespace mrc::fi_provider
{

class used
{
public:
    used() = default;
    used(const used &) = delete;
    used &operator=(const used &) = delete;
    [[nodiscard]] bool has_users() const { return users_ > 0; }

protected:
    ~used() = default;

private:
    friend class use_of;
    std::atomic<unsigned> users_{0};
};

// A member of who uses: as long as it lives the other may not be closed.
class use_of
{
public:
    use_of() = default;
    explicit use_of(used &what) : what_{&what} { ++what.users_; }
    use_of(use_of &&other) noexcept : what_{std::exchange(other.what_, nullptr)} {}
    use_of &operator=(use_of &&other) noexcept
    {
        std::swap(what_, other.what_);
        return *this;
    }
    ~use_of()
    {
        if (what_ != nullptr)
            --what_->users_;
    }

private:
    used *what_ = nullptr;
};

// fi_close() of an object that others use.
template <typename Object>
int close_unused(Object *what)
{
    if (what->has_users())
        return -FI_EBUSY;
    delete what;
    return 0;
}

} // namespace mrc::fi_provider
