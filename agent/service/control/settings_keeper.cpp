// SPDX-License-Identifier: Apache-2.0
#include "service/control/settings_keeper.h"

#include <chrono>
#include <utility>

#include "kernel/startup_error.h"
#include "kernel/trusted_folder.h"
#include "service/control/settings_text.h"
#include "service/log.h"

namespace mrc::service
{

namespace
{

// A controller that denies EVs one by one costs ten writes a second, each waits for the disk.
constexpr std::chrono::milliseconds longest_unsaved{100};

} // namespace

void settings_keeper::restore(const std::string &folder, const kernel::user_identity &user)
{
    if (const auto problem = kernel::find_folder_problem(folder, user.uid))
        throw kernel::startup_error{"cannot keep settings in '" + folder + "': " + problem->what + " (" +
                                    problem->remedy + ")"};
    const auto claimed = kernel::claim_folder(folder, user.uid);
    if (!claimed) {
        log::warn("cannot create '{}': {}; what a controller sets will be lost with this daemon", folder,
                  claimed.error().message());
        return;
    }
    file_.emplace(folder);
    const auto text = file_->read();
    if (!text)
        refuse(file_->path() + ": " + text.error().message());
    if (text && *text) {
        const auto stored = control::parse_settings(**text, file_->path());
        if (!stored)
            refuse(stored.error());
        else if (const auto restored = control_.restore(*stored); !restored)
            refuse(file_->path() + ": " + restored.error().text);
        else
            log::info("{}: {} EV profiles and {} CC profiles of a controller, {} ports disabled", file_->path(),
                      stored->ev_profiles.size(), stored->cc_profiles.size(), stored->disabled_ports.size());
    }
    if (*claimed)
        kernel::give_folder(folder, user);
}

void settings_keeper::refuse(const std::string &why)
{
    const auto aside = file_->set_aside();
    log::error("{}; nothing of it is restored, it is {} now", why,
               aside ? "'" + file_->refused_path() + "'" : "in the way: " + aside.error().message());
}

void settings_keeper::save_soon()
{
    if (!file_ || std::exchange(waiting_, true))
        return;
    due_.expires_after(longest_unsaved);
    due_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            save();
    });
}

void settings_keeper::save()
{
    if (!std::exchange(waiting_, false))
        return;
    if (const auto saved = file_->write(control::to_text(control_.settings())); !saved)
        log::error("{}: {}; what a controller has set since is lost with this daemon", file_->path(),
                   saved.error().message());
}

} // namespace mrc::service
