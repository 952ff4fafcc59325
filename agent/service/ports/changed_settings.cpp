// SPDX-License-Identifier: Apache-2.0
#include "service/ports/changed_settings.h"

#include <utility>

#include <fmt/format.h>

#include "service/log.h"

namespace mrc::service
{

namespace
{

std::string_view described(device_setting what)
{
    switch (what) {
    case device_setting::rss_table:
        return "RSS table";
    case device_setting::channels:
        return "channels";
    case device_setting::transmit_checksum:
        return "transmit checksums";
    }
    return {};
}

std::string command_to_restore(const setting_change &of)
{
    switch (of.what) {
    case device_setting::rss_table:
        return fmt::format("ethtool -X {} default", of.device);
    case device_setting::channels:
        return fmt::format("ethtool -L {} rx {} combined {}", of.device, of.before[0], of.before[2]);
    case device_setting::transmit_checksum:
        return fmt::format("ethtool -K {} tx {}", of.device, of.before[0] != 0 ? "on" : "off");
    }
    return {};
}

} // namespace

// By a constructor that is complete, so that all is undone where the rest fails.
changed_settings::changed_settings(const std::string &socket, const kernel::user_identity &user, device_settings &of,
                                   const std::function<bool(const setting_change &)> &stays)
    : changed_settings{socket, user, of}
{
    const auto left = record_.read();
    if (!left) {
        log::warn("what an mrcd before this one has changed of ports' settings stays: {}", left.error());
        return;
    }
    for (const setting_change &each : *left) {
        if (!stands(each))
            continue;
        const bool is_kept = stays(each);
        if (is_kept)
            changes_.push_back(each);
        else
            undo(each);
        log::info("port {}: its {} {} an mrcd that was killed {}", each.device, described(each.what),
                  is_kept ? "stay as" : "are as they were before", is_kept ? "had them, until mrcd ends" : "ran");
    }
    record_.write(changes_);
}

changed_settings::~changed_settings()
{
    for (const setting_change &each : changes_)
        undo(each);
    record_.remove();
}

bool changed_settings::change(device_setting what, const std::string &device, const std::vector<std::uint32_t> &values)
{
    const auto is_it = [&](const setting_change &each) { return each.what == what && each.device == device; };
    std::erase_if(changes_, is_it); // another has set it since
    std::vector<std::uint32_t> before = settings_.values_of(what, device);
    if (before.size() != values.size())
        return false;
    changes_.push_back({.what = what,
                        .device = device,
                        .ifindex = settings_.ifindex_of(device),
                        .before = std::move(before),
                        .set = values});
    record_.write(changes_);
    if (settings_.set(what, device, values))
        return true;
    changes_.pop_back();
    record_.write(changes_);
    return false;
}

// As it was set, on the device that it was set on.
bool changed_settings::stands(const setting_change &of) const
{
    return settings_.ifindex_of(of.device) == of.ifindex && settings_.values_of(of.what, of.device) == of.set;
}

void changed_settings::undo(const setting_change &of)
{
    if (stands(of) && !settings_.set(of.what, of.device, of.before))
        log::warn("port {}: its {} could not be restored: {}", of.device, described(of.what), command_to_restore(of));
}

} // namespace mrc::service
