// SPDX-License-Identifier: Apache-2.0
// The MRC device of one mrcd, as a controller opens it: through libmrc, like any other program.
#pragma once

#include <string>

#include "tools/mrc_handles.h"

namespace mrc::ctl
{

class controller_device
{
public:
    // `instance` is the option's value; empty: MRC_INSTANCE, or the only one. Throws ctl_error.
    explicit controller_device(const std::string &instance);

    [[nodiscard]] ibv_context *verbs() const { return verbs_.get(); }
    [[nodiscard]] mrc_context *mrc() const { return mrc_.get(); }

private:
    verbs_handle verbs_;
    context_handle mrc_;
};

// Throws ctl_error with the words of a daemon that waits for its first port: until then it has no maps. Returns where
// none does. `instance` as above.
void refuse_waiting(const std::string &instance);

// Why the call of libmrc that just failed did so: the daemon's words, or those of errno.
[[nodiscard]] std::string why_it_failed(int code);
// Throws ctl_error: "cannot <what>: <why>".
[[noreturn]] void fail_call(const std::string &what);

} // namespace mrc::ctl
