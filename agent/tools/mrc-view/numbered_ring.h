// SPDX-License-Identifier: Apache-2.0
// The last objects of a history, each with a number by which a page asks for those that it does not have yet.
#pragma once

#include <cstdint>
#include <deque>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace mrc::view
{

class numbered_ring
{
public:
    explicit numbered_ring(std::size_t most) : most_{most} {}

    // Gives it the member "n": 1 for the first.
    void add(boost::json::object one)
    {
        one["n"] = ++last_;
        kept_.push_back(std::move(one));
        if (kept_.size() > most_)
            kept_.pop_front();
    }
    [[nodiscard]] std::uint64_t last() const { return last_; }
    [[nodiscard]] const std::deque<boost::json::object> &kept() const { return kept_; }

    // Those with a higher number. A number that was not given out yet is another process's: all.
    [[nodiscard]] boost::json::array after(std::uint64_t number) const
    {
        boost::json::array found;
        for (const boost::json::object &one : kept_)
            if (number > last_ || one.at("n").to_number<std::uint64_t>() > number)
                found.push_back(one);
        return found;
    }

private:
    std::size_t most_;
    std::uint64_t last_ = 0;
    std::deque<boost::json::object> kept_;
};

} // namespace mrc::view
