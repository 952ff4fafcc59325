// SPDX-License-Identifier: Apache-2.0
// A time line in the Trace Event Format of Chrome, which Perfetto reads as well: a process for each host, a thread for
// each of its queue pairs, an instant for each event, and a bar for each packet that both ends have seen, from one to
// the other.
#pragma once

#include <span>
#include <string>

#include "tools/mrcctl/trace/time_line.h"

namespace mrc::ctl
{

struct packets_of {
    std::span<const seen_twice> packets;
    std::size_t from = 0; // which recording's
};

// Throws ctl_error where the file cannot be written. A file is emptied, or made, and then only its owner may read it.
void write_chrome_trace(const std::string &file, std::span<const recording> recordings, std::span<const timed_row> line,
                        std::int64_t second_ahead_ns, std::span<const packets_of> flights);
[[nodiscard]] std::string chrome_trace(std::span<const recording> recordings, std::span<const timed_row> line,
                                       std::int64_t second_ahead_ns, std::span<const packets_of> flights);

} // namespace mrc::ctl
