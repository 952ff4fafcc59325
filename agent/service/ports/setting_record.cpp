// SPDX-License-Identifier: Apache-2.0
#include "service/ports/setting_record.h"

#include <algorithm>
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

constexpr std::size_t most_values = 1U << 16; // of an RSS table

std::string line_of(const setting_change &change)
{
    return fmt::format("{} {} {} {} {} {}\n", name_of(change.what), change.device, change.ifindex, change.before.size(),
                       fmt::join(change.before, " "), fmt::join(change.set, " "));
}

bool read_values(std::istream &words, std::vector<std::uint32_t> &to, std::size_t count)
{
    to.resize(count);
    for (std::uint32_t &value : to)
        words >> value;
    return !words.fail();
}

std::size_t usual_count(device_setting what)
{
    switch (what) {
    case device_setting::rss_table:
        break;
    case device_setting::channels:
        return 3;
    case device_setting::transmit_checksum:
        return 1;
    }
    return 0; // any
}

std::optional<setting_change> change_of(const std::string &line)
{
    std::istringstream words{line};
    std::string name;
    std::size_t count = 0;
    setting_change change;
    words >> name >> change.device >> change.ifindex >> count;
    const auto *const what = std::ranges::find(all_device_settings, name, name_of);
    if (words.fail() || what == std::ranges::end(all_device_settings) || count == 0 || count > most_values)
        return std::nullopt;
    change.what = *what;
    if (const std::size_t usual = usual_count(*what); usual != 0 && count != usual)
        return std::nullopt;
    if (!read_values(words, change.before, count) || !read_values(words, change.set, count) ||
        !(words >> std::ws).eof())
        return std::nullopt;
    return change;
}

std::uint64_t own_netns()
{
    return kernel::own_netns_cookie().value_or(0);
}

} // namespace

std::string print_changes(std::span<const setting_change> changes, std::uint64_t netns)
{
    std::string text = fmt::format("netns {}\n", netns);
    for (const setting_change &change : changes)
        text += line_of(change);
    return text;
}

std::expected<std::vector<setting_change>, std::string> parse_changes(std::string_view text, std::uint64_t netns)
{
    std::istringstream lines{std::string{text}};
    std::string word;
    std::uint64_t of = 0;
    std::string line;
    if (!(lines >> word >> of) || word != "netns" || !std::getline(lines, line) || !line.empty())
        return std::unexpected{std::string{"line 1 does not say whose network namespace it is of"}};
    std::vector<setting_change> changes;
    for (unsigned number = 2; std::getline(lines, line); ++number) {
        const auto change = change_of(line);
        if (!change)
            return std::unexpected{fmt::format("line {} is of no setting of a port", number)};
        changes.push_back(*change);
    }
    if (of != netns)
        changes.clear();
    return changes;
}

setting_record::setting_record(const std::string &socket, kernel::user_identity user)
    : path_{std::filesystem::path{socket}.replace_extension(".ports")},
      folder_{std::filesystem::path{socket}.parent_path()}, user_{std::move(user)}
{
}

std::expected<std::vector<setting_change>, std::string> setting_record::read() const
{
    std::ifstream file{path_};
    if (!file)
        return errno == ENOENT ? std::expected<std::vector<setting_change>, std::string>{}
                               : std::unexpected{fmt::format("{}: {}", path_, std::generic_category().message(errno))};
    if (const auto problem = kernel::find_folder_problem(folder_, user_.uid))
        return std::unexpected{fmt::format("{} may be anybody's: {}", path_, problem->what)};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    auto changes = parse_changes(text, own_netns());
    return changes ? std::move(changes) : std::unexpected{fmt::format("{}: {}", path_, changes.error())};
}

// Before the listener has made the folder, too.
void setting_record::write(std::span<const setting_change> changes) const
{
    if (changes.empty())
        return remove();
    const auto claimed = kernel::claim_folder(folder_, user_.uid);
    if (!claimed)
        kernel::fail_startup("cannot create '" + folder_ + "'", claimed.error().value());
    const auto written = kernel::replace_file(path_, path_ + ".new", print_changes(changes, own_netns()));
    if (*claimed)
        kernel::give_folder(folder_, user_);
    if (!written)
        kernel::fail_startup("cannot write '" + path_ + "'", written.error().value());
}

void setting_record::remove() const
{
    std::error_code ignored;
    if (std::filesystem::remove(path_, ignored))
        std::filesystem::remove(folder_, ignored);
}

} // namespace mrc::service
