// SPDX-License-Identifier: Apache-2.0
// What controllers set, kept from one daemon of an instance to the next (control/stored_settings.h).
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "kernel/startup_error.h"
#include "kernel/trusted_folder.h"
#include "service/control/settings_text.h"
#include "service/daemon.h"

namespace mrc::service
{

namespace
{

// A controller that denies EVs one by one costs ten writes a second, each waits for the disk.
constexpr std::chrono::milliseconds longest_unsaved{100};

} // namespace

// Before the daemon becomes its user, who may not make a folder in /var/lib. What cannot be kept is no reason not to
// start; what somebody else may have written is.
void daemon::restore_settings()
{
    const auto &folder = config_.daemon.state_dir;
    if (!folder)
        return;
    if (const auto problem = kernel::find_folder_problem(*folder, user_.who.uid))
        throw kernel::startup_error{"cannot keep settings in '" + *folder + "': " + problem->what + " (" +
                                    problem->remedy + ")"};
    const auto claimed = kernel::claim_folder(*folder, user_.who.uid);
    if (!claimed) {
        spdlog::warn("cannot create '{}': {}; what a controller sets will be lost with this daemon", *folder,
                     claimed.error().message());
        return;
    }
    settings_.emplace(*folder);
    const auto text = settings_->read();
    if (!text)
        refuse_settings(settings_->path() + ": " + text.error().message());
    if (text && *text) {
        const auto stored = control::parse_settings(**text, settings_->path());
        if (!stored)
            refuse_settings(stored.error());
        else if (const auto restored = control_.restore(*stored); !restored)
            refuse_settings(settings_->path() + ": " + restored.error().text);
        else
            spdlog::info("{}: {} EV profiles and {} CC profiles of a controller, {} ports disabled", settings_->path(),
                         stored->ev_profiles.size(), stored->cc_profiles.size(), stored->disabled_ports.size());
    }
    if (*claimed)
        kernel::give_folder(*folder, user_.who);
}

void daemon::refuse_settings(const std::string &why)
{
    const auto aside = settings_->set_aside();
    spdlog::error("{}; nothing of it is restored, it is {} now", why,
                  aside ? "'" + settings_->refused_path() + "'" : "in the way: " + aside.error().message());
}

void daemon::save_settings_soon()
{
    if (!settings_ || std::exchange(settings_wait_, true))
        return;
    settings_due_.expires_after(longest_unsaved);
    settings_due_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            save_settings();
    });
}

void daemon::save_settings()
{
    if (!std::exchange(settings_wait_, false))
        return;
    if (const auto saved = settings_->write(control::to_text(control_.settings())); !saved)
        spdlog::error("{}: {}; what a controller has set since is lost with this daemon", settings_->path(),
                      saved.error().message());
}

} // namespace mrc::service
