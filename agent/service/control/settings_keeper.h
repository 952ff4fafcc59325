// SPDX-License-Identifier: Apache-2.0
// Keeps what controllers set from one daemon of an instance to the next (stored_settings.h): reads it at the start, and
// writes it soon after each change and at the end.
#pragma once

#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kernel/privileges.h"
#include "service/control/control_service.h"
#include "service/control/settings_file.h"

namespace mrc::service
{

class settings_keeper
{
public:
    settings_keeper(boost::asio::io_context &context, control_service &control) : control_{control}, due_{context} {}

    // From `folder`, where they are kept from now on; before the daemon becomes `user`, who may not make a folder in
    // /var/lib. What cannot be kept is no reason not to start; what somebody else may have written is: throws
    // kernel::startup_error.
    void restore(const std::string &folder, const kernel::user_identity &user);

    // They may have changed: written from the context, with what else changes until then.
    void save_soon();
    // What save_soon() has put off, now.
    void save();

private:
    void refuse(const std::string &why);

    control_service &control_;
    std::optional<control::settings_file> file_; // none: they are not kept
    boost::asio::steady_timer due_;
    bool waiting_ = false; // for due_
};

} // namespace mrc::service
