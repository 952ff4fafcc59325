// SPDX-License-Identifier: Apache-2.0
#include "service/ports/queue_record.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/netns_cookie.h"
#include "kernel/startup_error.h"
#include "kernel/trusted_folder.h"
#include "kernel/whole_file.h"

namespace mrc::service
{

namespace
{

constexpr std::size_t most_entries = 1U << 16; // of an RSS table

std::string line_of(const queue_change &change)
{
    const auto counts = [](const kernel::probes::channel_counts &of) {
        return fmt::format("{} {} {}", of.receive, of.transmit, of.combined);
    };
    if (change.table_before.empty())
        return fmt::format("channels {} {} {} {}\n", change.device, change.ifindex, counts(change.channels_before),
                           counts(change.channels_set));
    return fmt::format("table {} {} {} {} {}\n", change.device, change.ifindex, change.table_before.size(),
                       fmt::join(change.table_before, " "), fmt::join(change.table_set, " "));
}

bool read_table(std::istream &words, std::vector<std::uint32_t> &to, std::size_t entries)
{
    to.resize(entries);
    for (std::uint32_t &entry : to)
        words >> entry;
    return !words.fail();
}

bool read_counts(std::istream &words, kernel::probes::channel_counts &to)
{
    words >> to.receive >> to.transmit >> to.combined;
    return !words.fail();
}

std::optional<queue_change> change_of(const std::string &line)
{
    std::istringstream words{line};
    std::string kind;
    queue_change change;
    words >> kind >> change.device >> change.ifindex;
    bool whole = false;
    if (kind == "channels") {
        whole = read_counts(words, change.channels_before) && read_counts(words, change.channels_set);
    } else if (kind == "table") {
        std::size_t entries = 0;
        words >> entries;
        whole = !words.fail() && entries > 0 && entries <= most_entries &&
                read_table(words, change.table_before, entries) && read_table(words, change.table_set, entries);
    }
    if (!whole || !(words >> std::ws).eof())
        return std::nullopt;
    return change;
}

std::uint64_t own_netns()
{
    return kernel::own_netns_cookie().value_or(0);
}

} // namespace

std::string print_changes(std::span<const queue_change> changes, std::uint64_t netns)
{
    std::string text = fmt::format("netns {}\n", netns);
    for (const queue_change &change : changes)
        text += line_of(change);
    return text;
}

std::expected<std::vector<queue_change>, std::string> parse_changes(std::string_view text, std::uint64_t netns)
{
    std::istringstream lines{std::string{text}};
    std::string word;
    std::uint64_t of = 0;
    std::string line;
    if (!(lines >> word >> of) || word != "netns" || !std::getline(lines, line) || !line.empty())
        return std::unexpected{std::string{"line 1 does not say whose network namespace it is of"}};
    std::vector<queue_change> changes;
    for (unsigned number = 2; std::getline(lines, line); ++number) {
        const auto change = change_of(line);
        if (!change)
            return std::unexpected{fmt::format("line {} is neither of an RSS table nor of channels", number)};
        changes.push_back(*change);
    }
    if (of != netns)
        changes.clear();
    return changes;
}

queue_record::queue_record(const std::string &socket, kernel::user_identity user)
    : path_{std::filesystem::path{socket}.replace_extension(".queues")},
      folder_{std::filesystem::path{socket}.parent_path()}, user_{std::move(user)}
{
}

std::expected<std::vector<queue_change>, std::string> queue_record::read() const
{
    std::ifstream file{path_};
    if (!file)
        return errno == ENOENT ? std::expected<std::vector<queue_change>, std::string>{}
                               : std::unexpected{fmt::format("{}: {}", path_, std::generic_category().message(errno))};
    if (const auto problem = kernel::find_folder_problem(folder_, user_.uid))
        return std::unexpected{fmt::format("{} may be anybody's: {}", path_, problem->what)};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    auto changes = parse_changes(text, own_netns());
    return changes ? std::move(changes) : std::unexpected{fmt::format("{}: {}", path_, changes.error())};
}

// Before the listener has made the folder, too.
void queue_record::write(std::span<const queue_change> changes) const
{
    const auto claimed = kernel::claim_folder(folder_, user_.uid);
    if (!claimed)
        kernel::fail_startup("cannot create '" + folder_ + "'", claimed.error().value());
    const auto written = kernel::replace_file(path_, path_ + ".new", print_changes(changes, own_netns()));
    if (*claimed)
        kernel::give_folder(folder_, user_);
    if (!written)
        kernel::fail_startup("cannot write '" + path_ + "'", written.error().value());
}

void queue_record::remove() const
{
    std::error_code ignored;
    if (std::filesystem::remove(path_, ignored))
        std::filesystem::remove(folder_, ignored);
}

} // namespace mrc::service
