// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/config_show.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "options/read.h"
#include "service/config/config.h"
#include "service/config/reload.h"
#include "tools/mrcctl/command_line.h"
#include "tools/mrcctl/daemon_sockets.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/json_text.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr std::string_view before_origin = "  # ";

json::value json_of(const toml::node &node)
{
    if (const auto *array = node.as_array()) {
        json::array all;
        for (const toml::node &element : *array)
            all.push_back(json_of(element));
        return all;
    }
    if (const auto text = node.value_exact<std::string>())
        return json_text(*text);
    if (const auto number = node.value_exact<std::int64_t>())
        return *number;
    if (const auto number = node.value_exact<double>())
        return *number;
    if (const auto flag = node.value_exact<bool>())
        return *flag;
    return nullptr; // options have no other types
}

std::string_view trimmed(std::string_view text)
{
    const auto begin = text.find_first_not_of(' ');
    return begin == std::string_view::npos ? std::string_view{}
                                           : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// What the file says now, compared with what is in force.
struct file_look {
    std::string file;                     // that the daemon has read; empty: not known
    std::string problem;                  // why it cannot be compared
    std::vector<std::string> differences; // as a daemon tells them that reads it again
};

file_look compare_with_file(const std::string &printed, const std::string &where)
{
    file_look seen;
    auto in_force = service::parse_config(printed, where);
    if (!in_force) {
        seen.problem = fmt::format("mrcd and its tools are of different versions: {}", in_force.error().text());
        return seen;
    }
    for (const auto &option : options_in(printed)) {
        const std::string origin{option.at("origin").as_string()};
        if (origin == "default")
            in_force->origin.given.erase(std::string{option.at("key").as_string()});
        else
            seen.file = origin.substr(0, origin.rfind(':'));
    }
    if (seen.file.empty())
        return seen; // nothing is from a file
    const auto now = service::load_config(seen.file);
    if (!now) {
        seen.problem = fmt::format("mrcd would not take its file now: {}", now.error().text());
        return seen;
    }
    service::reload_report report = service::reload_config(*in_force, *now);
    seen.differences = std::move(report.changed);
    seen.differences.insert(seen.differences.end(), report.needs_restart.begin(), report.needs_restart.end());
    return seen;
}

void tell(const std::string &instance, const file_look &seen)
{
    if (const auto daemon = process_of(instance); daemon && !daemon->alive)
        fmt::print(stderr, "mrcctl: mrcd of instance '{}' (pid {}) has ended; this was its configuration\n", instance,
                   daemon->pid);
    if (!seen.problem.empty())
        fmt::print(stderr, "mrcctl: {}\n", seen.problem);
    if (!seen.differences.empty())
        fmt::print(stderr, "mrcctl: {} has changed since mrcd read it: {}\n", seen.file,
                   fmt::join(seen.differences, "; "));
}

json::object view_of(const std::string &instance, const std::string &printed, const file_look &seen)
{
    json::array differences;
    for (const std::string &each : seen.differences)
        differences.push_back(json_text(each));
    return {{"instance", json_text(instance)},
            {"file", seen.file.empty() ? json::value(nullptr) : json::value(json_text(seen.file))},
            {"file_problem", seen.problem.empty() ? json::value(nullptr) : json::value(json_text(seen.problem))},
            {"file_differs", std::move(differences)},
            {"options", options_in(printed)}};
}

int show_config(const std::string &given, bool as_json)
{
    const std::string instance = one_instance(given);
    const std::filesystem::path socket = socket_of(instance);
    const std::filesystem::path file = service::config_in_force(socket);
    std::error_code error;
    if (!std::filesystem::exists(socket, error))
        refuse_silent(instance, {});
    const auto printed = options::read_file(file.string());
    if (!printed)
        throw ctl_error{fmt::format("no configuration in force of instance '{}': {}; mrcd writes it when it starts",
                                    instance, printed.error().text())};
    const file_look seen = compare_with_file(*printed, file.string());
    fmt::print("{}", as_json ? json::serialize(view_of(instance, *printed, seen)) + '\n' : *printed);
    tell(instance, seen);
    return 0;
}

} // namespace

json::array options_in(std::string_view printed)
{
    json::array all;
    std::map<std::string, unsigned> rows; // of each table so far
    std::string table;
    std::istringstream lines{std::string{printed}};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("[[")) {
            const std::string name = line.substr(2, line.find("]]") - 2);
            table = fmt::format("{}[{}].", name, rows[name]++);
        } else if (line.starts_with('[')) {
            table = line.substr(1, line.find(']') - 1) + ".";
        } else if (const auto equals = line.find(" = "), comment = line.rfind(before_origin);
                   equals != std::string::npos && comment != std::string::npos && equals < comment) {
            const std::string_view value = trimmed(std::string_view{line}.substr(equals + 3, comment - equals - 3));
            const toml::table one = toml::parse(fmt::format("value = {}", value));
            all.push_back(json::object{{"key", json_text(table + line.substr(0, equals))},
                                       {"value", json_of(*one.get("value"))},
                                       {"origin", json_text(line.substr(comment + before_origin.size()))}});
        }
    }
    return all;
}

void add_config(CLI::App &app, invocation &chosen)
{
    CLI::App &object = add_object(app, "config", "What mrcd has read and found");
    add_command(object, "show", "The configuration in force, with the origin of each value", chosen)
        ->callback([&chosen] { chosen.local = [&chosen] { return show_config(chosen.instance, chosen.json); }; });
}

} // namespace mrc::ctl
