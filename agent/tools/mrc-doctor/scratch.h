// SPDX-License-Identifier: Apache-2.0
// A network namespace of mrc-doctor's own with a veth pair in it. The namespace has no name: the kernel removes it with
// the process, however that ends.
#pragma once

#include <string>

#include "kernel/unique_fd.h"

namespace mrc::doctor
{

class scratch_network
{
public:
    // The calling thread moves into the namespace and goes back at the end. Throws kernel::startup_error.
    scratch_network();
    scratch_network(const scratch_network &) = delete;
    scratch_network &operator=(const scratch_network &) = delete;
    ~scratch_network();

    // Both ends are up; frames for `near` leave at `far` and the other way round. Throws kernel::startup_error.
    void add_pair(const std::string &near, const std::string &far, std::uint32_t mtu);

private:
    kernel::unique_fd before_;
};

} // namespace mrc::doctor
