// SPDX-License-Identifier: Apache-2.0
// What all clients of one user hold together. Limits of a connection alone would be none: anybody opens several.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <sys/types.h>

namespace mrc::service
{

enum class resource : std::uint8_t {
    connections, // of them, those that have said hello are clients
    clients,
    protection_domains,
    memory_regions,
    memory_bytes,
    event_pipes,
    completion_channels,
    completion_queues,
    completion_entries,
    queue_pairs,
    work_requests,
    count // not a resource
};

class user_account
{
public:
    explicit user_account(uid_t user) : user_{user} {}

    [[nodiscard]] uid_t user() const { return user_; }
    // True for one refusal in a row of them: the log has a line when a user reaches its limit, not for each attempt.
    [[nodiscard]] bool is_first_refusal() { return !std::exchange(refused_, true); }
    [[nodiscard]] std::uint64_t held(resource what) const { return held_[static_cast<std::size_t>(what)]; }

private:
    friend class holding;
    uid_t user_;
    bool refused_ = false; // since a client was last returned
    std::array<std::uint64_t, static_cast<std::size_t>(resource::count)> held_{};
};

// A part of an account, which returns when this is destroyed. The service thread's only.
class holding
{
public:
    holding() = default; // of nothing
    holding(holding &&) noexcept = default;
    holding &operator=(holding &&other) noexcept
    {
        std::swap(account_, other.account_);
        std::swap(what_, other.what_);
        std::swap(amount_, other.amount_);
        return *this;
    }
    holding(const holding &) = delete;
    holding &operator=(const holding &) = delete;
    ~holding()
    {
        if (account_ == nullptr)
            return;
        account_->held_[static_cast<std::size_t>(what_)] -= amount_;
        if (what_ == resource::clients)
            account_->refused_ = false;
    }

    [[nodiscard]] std::uint64_t amount() const { return amount_; }

    // nullopt: the account would hold more than the limit.
    [[nodiscard]] static std::optional<holding> take(const std::shared_ptr<user_account> &account, resource what,
                                                     std::uint64_t amount, std::uint64_t limit)
    {
        std::uint64_t &held = account->held_[static_cast<std::size_t>(what)];
        if (held > limit || amount > limit - held)
            return std::nullopt;
        held += amount;
        holding taken;
        taken.account_ = account;
        taken.what_ = what;
        taken.amount_ = amount;
        return taken;
    }

private:
    std::shared_ptr<user_account> account_;
    resource what_ = resource::count;
    std::uint64_t amount_ = 0;
};

// An account for each user with clients.
class user_accounts
{
public:
    [[nodiscard]] std::shared_ptr<user_account> of(uid_t user)
    {
        std::erase_if(accounts_, [](const auto &entry) { return entry.second.expired(); });
        std::weak_ptr<user_account> &known = accounts_[user];
        auto account = known.lock();
        if (account == nullptr)
            known = account = std::make_shared<user_account>(user);
        return account;
    }

private:
    std::map<uid_t, std::weak_ptr<user_account>> accounts_;
};

} // namespace mrc::service
