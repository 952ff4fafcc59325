// SPDX-License-Identifier: Apache-2.0
// Settings of ports' devices that are other than they were for as long as the object is there; what was there before
// stands in a file meanwhile (setting_record.h). What somebody else has set since stays, as does a device of another
// number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernel/privileges.h"
#include "service/ports/device_settings.h"
#include "service/ports/setting_record.h"

namespace mrc::service
{

class changed_settings
{
public:
    // What an mrcd that was killed has left is undone, but for what `stays` until the end of this one. Throws
    // startup_error.
    changed_settings(const std::string &socket, const kernel::user_identity &user, device_settings &of,
                     const std::function<bool(const setting_change &)> &stays);
    changed_settings(const changed_settings &) = delete;
    changed_settings &operator=(const changed_settings &) = delete;
    ~changed_settings();

    // False: the device has no such setting, or its driver refuses, and nothing is changed. Throws startup_error where
    // nothing can be written down.
    [[nodiscard]] bool change(device_setting what, const std::string &device, const std::vector<std::uint32_t> &values);

private:
    changed_settings(const std::string &socket, const kernel::user_identity &user, device_settings &of)
        : record_{socket, user}, settings_{of}
    {
    }
    [[nodiscard]] bool stands(const setting_change &of) const;
    void undo(const setting_change &of);

    setting_record record_;
    device_settings &settings_;
    std::vector<setting_change> changes_; // one of a device and setting
};

} // namespace mrc::service
