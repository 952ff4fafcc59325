// SPDX-License-Identifier: Apache-2.0
// A list whose links lie in its members: each enters at the end and leaves from anywhere in constant time, and
// nothing is allocated. A member is in one such list per pair of links.
#pragma once

namespace mrc::datapath
{

template <typename member>
struct list_links {
    member *previous = nullptr;
    member *next = nullptr;
    bool listed = false;
};

template <typename member, list_links<member> member::*links>
class linked_list
{
public:
    [[nodiscard]] member *front() const { return first_; } // null: empty
    void push_back(member &added)
    {
        (added.*links) = {last_, nullptr, true};
        (last_ == nullptr ? first_ : (last_->*links).next) = &added;
        last_ = &added;
    }
    // Nothing happens to one that is not in it.
    void remove(member &gone)
    {
        list_links<member> &of = gone.*links;
        if (!of.listed)
            return;
        (of.previous == nullptr ? first_ : (of.previous->*links).next) = of.next;
        (of.next == nullptr ? last_ : (of.next->*links).previous) = of.previous;
        of = {};
    }

private:
    member *first_ = nullptr;
    member *last_ = nullptr;
};

} // namespace mrc::datapath
