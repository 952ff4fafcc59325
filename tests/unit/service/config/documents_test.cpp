// SPDX-License-Identifier: Apache-2.0
// Every option stands in the sample configuration and in the man page, with what it allows and its default.
#include "service/config/options.h"

#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

std::vector<std::string> lines_of(const std::string &file)
{
    std::ifstream stream{std::string{MRC_SOURCE_DIR} + "/docs/" + file};
    EXPECT_TRUE(stream.is_open()) << file;
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

// Words with single spaces between them.
std::string flowed(const std::string &text)
{
    std::istringstream stream{text};
    std::string out;
    for (std::string word; stream >> word;)
        out += (out.empty() ? "" : " ") + word;
    return out;
}

std::string without(std::string text, std::string_view escape, std::string_view plain)
{
    for (auto at = text.find(escape); at != std::string::npos; at = text.find(escape, at + plain.size()))
        text.replace(at, escape.size(), plain);
    return text;
}

std::string name_of(std::string_view table, std::string_view key)
{
    return std::string{table}.append(".").append(key);
}

// "table.key" -> the text that explains it.
using explanations = std::map<std::string, std::string>;

// The comment lines directly above `key = …` or `#key = …`.
explanations of_sample()
{
    explanations found;
    std::string table;
    std::string comment;
    for (const auto &line : lines_of("mrcd.toml")) {
        if (line.starts_with('[')) {
            table = line.substr(line.find_first_not_of('['), line.find(']') - line.find_first_not_of('['));
        } else if (line.starts_with("# ")) {
            comment += line.substr(2) + " ";
            continue;
        } else if (const auto equals = line.find(" = "); equals != std::string::npos) {
            const std::size_t from = line.starts_with('#') ? 1 : 0;
            found[name_of(table, line.substr(from, equals - from))] += flowed(comment);
        }
        comment.clear();
    }
    return found;
}

// The paragraph behind `.B key` in the subsection `.SS [table]`.
explanations of_man_page()
{
    explanations found;
    std::string table;
    std::string key;
    for (const auto &line : lines_of("mrcd.8")) {
        if (line.starts_with(".SS ") || line.starts_with(".SH ")) {
            const auto open = line.find_first_of('[');
            table = open == std::string::npos ? "" : line.substr(open, line.find(']') - open);
            table.erase(0, table.find_first_not_of('['));
            key.clear();
        } else if (line == ".TP") {
            key.clear();
        } else if (line.starts_with(".B ") && key.empty()) {
            key = line.substr(3);
        } else if (!table.empty() && !key.empty()) {
            auto &text = found[name_of(table, key)];
            text.append(" ").append(without(line, "\\-", "-"));
            text = flowed(text);
        }
    }
    return found;
}

void compare(const explanations &found, const std::string &document)
{
    std::size_t options = 0;
    for (const auto &table : config_options().parts())
        for (const auto &option : table.content->options()) {
            options++;
            const auto name = name_of(table.key, option.key);
            const auto at = found.find(name);
            if (at == found.end()) {
                ADD_FAILURE() << document << " does not explain " << name;
                continue;
            }
            EXPECT_NE(at->second.find("Allowed: " + option.allowed + "."), std::string::npos) << name << at->second;
            const auto given = option.is_required ? std::string{"Required."} : "Default: " + option.default_text + ".";
            EXPECT_NE(at->second.find(given), std::string::npos) << name << ": " << given << "\n" << at->second;
        }
    EXPECT_EQ(found.size(), options) << document << " explains an option that does not exist";
}

TEST(config_documents, sample_explains_every_option)
{
    compare(of_sample(), "docs/mrcd.toml");
}

TEST(config_documents, man_page_explains_every_option)
{
    compare(of_man_page(), "docs/mrcd.8");
}

TEST(config_documents, sample_is_accepted)
{
    const auto config = load_config(std::string{MRC_SOURCE_DIR} + "/docs/mrcd.toml");
    EXPECT_TRUE(config) << config.error().text();
}

TEST(config_documents, sample_is_accepted_with_every_option_in_use)
{
    std::string text;
    for (const auto &line : lines_of("mrcd.toml"))
        text += (line.starts_with('#') && !line.starts_with("# ") ? line.substr(1) : line) + "\n";
    const auto config = parse_config(text, "mrcd.toml");
    ASSERT_TRUE(config) << config.error().text();
    for (const auto &table : config_options().parts())
        for (const auto &option : table.content->options())
            EXPECT_TRUE(config->origin.has(name_of(table.name(0), option.key))) << table.key << option.key;
}

// A sample that is copied as it is must behave as the defaults do.
TEST(config_documents, sample_shows_the_defaults)
{
    std::string text;
    for (const auto &line : lines_of("mrcd.toml"))
        text += (line.starts_with('#') && !line.starts_with("# ") ? line.substr(1) : line) + "\n";
    const auto config = parse_config(text, "mrcd.toml");
    ASSERT_TRUE(config) << config.error().text();
    for (const auto &table : config_options().parts())
        for (const auto &option : table.content->options())
            if (!option.is_required && option.default_text.find_first_of(" I") == std::string::npos) {
                EXPECT_EQ(option.as_toml(table.at(&std::as_const(*config), 0)), option.default_text) << option.key;
            }
}

} // namespace
} // namespace mrc::service
