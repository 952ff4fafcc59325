// SPDX-License-Identifier: Apache-2.0
// The verbs device that stands for a host's mrcd.
#pragma once

#include <string>

#include "tools/mrc_handles.h"

namespace mrc::perf
{

// Indices of the GID table (agent/client/verbs/gid_table.h): the host's addresses as RoCE NICs have them, each twice.
inline constexpr int primary_gid_index = 2;
inline constexpr int second_gid_index = 4;

class mrc_device
{
public:
    // Throws perf_error: there is none of that name; or, without a name, none at all or several.
    explicit mrc_device(const std::string &name);

    [[nodiscard]] ibv_context *verbs() const { return verbs_.get(); }
    [[nodiscard]] ibv_pd *pd() const { return pd_.get(); }
    [[nodiscard]] mrc_context *mrc() const { return mrc_.get(); }
    [[nodiscard]] ibv_gid gid(int index) const; // zeros: none
    [[nodiscard]] int most_completions() const; // of one CQ

    // Readable when gone() may have become true.
    [[nodiscard]] int event_fd() const { return verbs_->async_fd; }
    // Whether the daemon has gone; takes other events of the device away.
    [[nodiscard]] bool gone();

private:
    verbs_handle verbs_;
    pd_handle pd_;
    context_handle mrc_;
    bool gone_ = false;
};

} // namespace mrc::perf
