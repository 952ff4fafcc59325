// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcd/journal.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>

#include "kernel/map_names.h"
#include "service/event_fields.h"
#include "service/log.h"

namespace mrc::journal
{

namespace
{

constexpr const char *program = "mrcd";

// "DEVICE:INODE" of what is the journal.
bool is_there()
{
    const char *stream = std::getenv("JOURNAL_STREAM");
    struct stat own{};
    return stream != nullptr && ::fstat(STDERR_FILENO, &own) == 0 &&
           fmt::format("{}:{}", own.st_dev, own.st_ino) == stream;
}

int priority_of(service::log_level severity)
{
    switch (severity) {
    case service::log_level::trace:
    case service::log_level::debug:
        return LOG_DEBUG;
    case service::log_level::info:
        return LOG_INFO;
    case service::log_level::warning:
        return LOG_WARNING;
    case service::log_level::error:
        return LOG_ERR;
    }
    return LOG_INFO;
}

// A journal's names are capitals, digits and underscores.
std::string named(std::string_view name, std::string_view value)
{
    std::string entry = fmt::format("MRC_{}=", name);
    std::ranges::transform(entry, entry.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return entry.append(value);
}

std::vector<std::string> entries_of(const std::string &instance, const mrc_event_row &event)
{
    std::vector<std::string> entries{named("instance", instance),
                                     named("event", kernel::word_of(kernel::event_kind_names, event.kind))};
    if (event.reason != MRC_REASON_NONE)
        entries.push_back(named("reason", kernel::word_of(kernel::event_reason_names, event.reason)));
    for (const service::event_field &field : service::fields_of(event))
        if (const auto *number = std::get_if<std::uint64_t>(&field.value))
            entries.push_back(named(field.name, std::to_string(*number)));
        else if (const auto *words = std::get_if<std::string>(&field.value))
            entries.push_back(named(field.name, *words));
    return entries;
}

void write_event(service::log_level severity, const std::string &line, std::vector<std::string> entries)
{
    entries.push_back("MESSAGE=" + line);
    entries.push_back(fmt::format("PRIORITY={}", priority_of(severity)));
    entries.push_back(fmt::format("SYSLOG_IDENTIFIER={}", program));
    std::vector<iovec> pieces(entries.size());
    std::ranges::transform(entries, pieces.begin(),
                           [](std::string &entry) { return iovec{.iov_base = entry.data(), .iov_len = entry.size()}; });
    if (::sd_journal_sendv(pieces.data(), static_cast<int>(pieces.size())) != 0)
        service::log::write(severity, line);
}

} // namespace

void log_there(const std::string &instance)
{
    if (!is_there())
        return;
    auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::systemd_sink_mt>(program));
    logger->set_pattern("%v");
    (void)service::log::replace_logger(std::move(logger));
    service::log::set_event_writer(
        [instance](service::log_level severity, const std::string &line, const mrc_event_row &event) {
            write_event(severity, line, entries_of(instance, event));
        });
}

} // namespace mrc::journal
