// SPDX-License-Identifier: Apache-2.0
// The states of paths as an operator sees them. Each worker judges a path by its own packets and probes; shown and told
// is the worst of what they find.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"
#include "protocol/paths/path_group_state.h"

namespace mrc::datapath
{

class shared_path_states
{
public:
    // `rows` is borrowed.
    explicit shared_path_states(const kernel::mapped_array<mrc_path_row> &rows) : rows_{rows} {}

    // On a worker's thread: its state of a path has changed. Where what all see changes with it, that stands in the row
    // then, and is told, in the order in which it does.
    using telling = std::function<void(const protocol::path_transition &)>;
    void note(unsigned worker, const protocol::path_transition &change, const telling &tell);
    // The path's row is another's from now on.
    void forget(protocol::path_index path);

private:
    // By worker; nothing: it has not told any, so the path is as good as it was made.
    using states = std::array<std::optional<protocol::path_state>, MRC_MAX_WORKERS>;

    const kernel::mapped_array<mrc_path_row> &rows_;
    std::mutex changing_;
    std::unordered_map<std::uint32_t, states> of_path_;
};

} // namespace mrc::datapath
