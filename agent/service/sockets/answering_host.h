// SPDX-License-Identifier: Apache-2.0
// Does a host answer at its MRC address? Asked at regular intervals, it does from its first answer on, until it has
// been silent for `patience`: one lost question says nothing, and a plane that dies takes some with it.
#pragma once

#include <chrono>
#include <utility>

#include "protocol/types.h"

namespace mrc::service
{

class answering_host
{
public:
    static constexpr protocol::duration interval = std::chrono::milliseconds{500};
    static constexpr protocol::duration patience = 4 * interval;

    [[nodiscard]] bool answers() const { return answers_; }
    // True when that is news.
    bool on_answer(protocol::instant now)
    {
        heard_ = now;
        return !std::exchange(answers_, true);
    }
    bool on_question(protocol::instant now)
    {
        if (!answers_ || now - heard_ < patience)
            return false;
        answers_ = false;
        return true;
    }

private:
    protocol::instant heard_{};
    bool answers_ = false;
};

} // namespace mrc::service
