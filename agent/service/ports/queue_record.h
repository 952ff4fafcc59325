// SPDX-License-Identifier: Apache-2.0
// What mrcd has changed of ports' receive queues, in a file beside its socket: written before each change, so that an
// mrcd that is killed leaves to the next one what was there before. Gone with a restart of the machine, as the changes
// are.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/privileges.h"
#include "kernel/probes/device.h"

namespace mrc::service
{

// Of the RSS table, or, where that is empty, of the channels.
struct queue_change {
    std::string device;
    int ifindex = 0;
    std::vector<std::uint32_t> table_before;
    std::vector<std::uint32_t> table_set; // as many entries
    kernel::probes::channel_counts channels_before{};
    kernel::probes::channel_counts channels_set{};
    friend bool operator==(const queue_change &, const queue_change &) = default;
};

// Lines of words. `netns` numbers the network namespace, by whose devices' names the changes go.
[[nodiscard]] std::string print_changes(std::span<const queue_change> changes, std::uint64_t netns);
// None where they are of another network namespace. The error names the line that cannot be read.
[[nodiscard]] std::expected<std::vector<queue_change>, std::string> parse_changes(std::string_view text,
                                                                                  std::uint64_t netns);

class queue_record
{
public:
    // In the folder of the daemon's socket, which is, or becomes, this user's.
    queue_record(const std::string &socket, kernel::user_identity user);

    // What is not undone; none where there is no file. The error says why it is not known.
    [[nodiscard]] std::expected<std::vector<queue_change>, std::string> read() const;
    // In the place of what was there. Throws startup_error.
    void write(std::span<const queue_change> changes) const;
    void remove() const; // the folder, too, if nothing else is in it

private:
    std::string path_;
    std::string folder_;
    kernel::user_identity user_;
};

} // namespace mrc::service
