// SPDX-License-Identifier: Apache-2.0
// Asks one mrcd for what becomes of ordinary sockets (agent/session/session_protocol.h). What is adopted by a request
// that says so ends with this object: the daemon sees its connection close, however this process ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "session/session_protocol.h"

namespace mrc::ctl
{

class adoption_line
{
public:
    // `instance` is the option's value; empty: MRC_INSTANCE, or the only one that answers. Throws ctl_error.
    explicit adoption_line(const std::string &instance);

    // What fails in the daemon throws ctl_error with its words.
    [[nodiscard]] session::adoption_reply adopt(const std::filesystem::path &cgroup, std::uint32_t flags) const;
    [[nodiscard]] std::vector<session::adoption_reply> list() const;
    void undo(std::uint32_t number) const;

    [[nodiscard]] const std::string &instance() const { return name_; }
    // Readable when the daemon has gone.
    [[nodiscard]] int fd() const { return socket_.get(); }

private:
    [[nodiscard]] session::session_reply ask(const session::session_request &request,
                                             std::optional<int> descriptor = {}) const;

    std::string name_;
    kernel::unique_fd socket_;
};

} // namespace mrc::ctl
