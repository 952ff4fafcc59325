// SPDX-License-Identifier: Apache-2.0
// What mrcd has changed of ports' settings, in a file beside its socket: written before each change, so that an mrcd
// that is killed leaves to the next one what was there before. Gone with a restart of the machine, as the changes are.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/privileges.h"
#include "service/ports/device_settings.h"

namespace mrc::service
{

struct setting_change {
    device_setting what{};
    std::string device;
    int ifindex = 0;
    std::vector<std::uint32_t> before;
    std::vector<std::uint32_t> set; // as many
    friend bool operator==(const setting_change &, const setting_change &) = default;
};

// Lines of words. `netns` numbers the network namespace, by whose devices' names the changes go.
[[nodiscard]] std::string print_changes(std::span<const setting_change> changes, std::uint64_t netns);
// None where they are of another network namespace. The error names the line that cannot be read.
[[nodiscard]] std::expected<std::vector<setting_change>, std::string> parse_changes(std::string_view text,
                                                                                    std::uint64_t netns);

class setting_record
{
public:
    // In the folder of the daemon's socket, which is, or becomes, this user's.
    setting_record(const std::string &socket, kernel::user_identity user);

    // What is not undone; none where there is no file. The error says why it is not known.
    [[nodiscard]] std::expected<std::vector<setting_change>, std::string> read() const;
    // In the place of what was there; of none: there is no file. Throws startup_error.
    void write(std::span<const setting_change> changes) const;
    void remove() const; // the folder, too, if nothing else is in it

private:
    std::string path_;
    std::string folder_;
    kernel::user_identity user_;
};

} // namespace mrc::service
