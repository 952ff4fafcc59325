// SPDX-License-Identifier: Apache-2.0
// Who has to be looked at. Whoever runs thousands of path groups and hosts cannot ask each in every round what is due:
// those to which something has happened that may bring their next_deadline() forward, or that is to be reported, call
// for attention themselves, once until they are looked at.
#pragma once

#include <utility>

namespace mrc::protocol
{

class attention_list;

// A place in a list, of one or more that call. Its owner's; it outlives what calls, or is taken from it before.
class attention
{
public:
    attention() = default;
    attention(const attention &) = delete;
    attention &operator=(const attention &) = delete;

    void call();

private:
    friend class attention_list;

    attention_list *list_ = nullptr; // null: nobody looks
    attention *next_ = nullptr;
    bool called_ = false;
};

class attention_list
{
public:
    // It has been called for, too.
    void enter(attention &one)
    {
        one.list_ = this;
        one.call();
    }
    // As long as those that have called and were not taken yet.
    void leave(attention &one)
    {
        one.list_ = nullptr;
        if (!std::exchange(one.called_, false))
            return;
        attention **link = &first_;
        while (*link != &one)
            link = &(*link)->next_;
        *link = one.next_;
    }
    // Each once, in no order; null: no more.
    [[nodiscard]] attention *take()
    {
        attention *taken = first_;
        if (taken != nullptr) {
            first_ = taken->next_;
            taken->called_ = false;
        }
        return taken;
    }

private:
    friend class attention;

    attention *first_ = nullptr;
};

inline void attention::call()
{
    if (list_ == nullptr || std::exchange(called_, true))
        return;
    next_ = std::exchange(list_->first_, this);
}

// In what calls.
class attention_caller
{
public:
    // Null: nobody looks any more.
    void attend(attention *by) { by_ = by; }
    void operator()() const
    {
        if (by_ != nullptr)
            by_->call();
    }

private:
    attention *by_ = nullptr;
};

} // namespace mrc::protocol
