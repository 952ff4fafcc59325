// SPDX-License-Identifier: Apache-2.0
#include "tools/hosts/block.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "kernel/whole_file.h"

namespace mrc::tools
{

namespace
{

// How the file was before the block came, for the day it goes.
constexpr std::string_view plain = "\n";
constexpr std::string_view unended = "; the line above had no end\n";
constexpr std::string_view made = "; it made this file\n";

std::string begin_of(const std::string &instance)
{
    return fmt::format("# begin: peers of mrcd '{}', kept by mrcctl hosts", instance);
}

std::string end_of(const std::string &instance)
{
    return fmt::format("# end: peers of mrcd '{}'\n", instance);
}

std::size_t find_line(std::string_view text, std::string_view begin)
{
    for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1))
        if (at == 0 || text[at - 1] == '\n')
            return at;
    return std::string_view::npos;
}

struct parts {
    std::string before;
    std::string after;
    std::string_view was = plain; // of the block that stands between them
};

// nullopt: there is no block.
std::expected<std::optional<parts>, std::string> split(std::string_view text, const std::string &instance)
{
    const std::string begin = begin_of(instance);
    const std::string end = end_of(instance);
    const std::size_t from = find_line(text, begin);
    if (from == std::string_view::npos)
        return std::nullopt;
    const std::string_view block = text.substr(from);
    const std::size_t to = find_line(block, end);
    if (to == std::string_view::npos)
        return std::unexpected{fmt::format(R"(the block that begins with "{}" has no line "{}": mend it by hand)",
                                           begin, end.substr(0, end.size() - 1))};
    parts found{.before = std::string{text.substr(0, from)}, .after = std::string{block.substr(to + end.size())}};
    for (const std::string_view kind : {unended, made})
        if (block.substr(begin.size()).starts_with(kind))
            found.was = kind;
    return found;
}

// Of the file's own lines; empty: nobody has the name, or the same address has it.
std::string owner_of(const std::string &name, const std::string &address, const std::string &own_lines)
{
    std::istringstream lines{own_lines};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line.substr(0, line.find('#'))};
        std::string owner;
        words >> owner;
        for (std::string each; words >> each;)
            if (session::is_same_name(each, name) && owner != address)
                return owner;
    }
    return {};
}

std::string text_of(const std::string &file)
{
    std::ifstream stream{file, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{stream}, {}};
    if (!stream && !stream.eof())
        throw std::runtime_error{fmt::format("cannot read {}", file)};
    return text;
}

void replace(const std::string &file, const std::string &text)
{
    if (const auto written = kernel::replace_file(file, file + ".mrcctl", text); !written)
        throw std::runtime_error{fmt::format("cannot write {}: {}", file, written.error().message())};
}

std::string target_of(const std::string &file)
{
    std::error_code error;
    const auto target = std::filesystem::canonical(file, error);
    return error ? file : target.string();
}

[[noreturn]] void refuse(const std::string &file, const std::string &problem)
{
    throw std::runtime_error{fmt::format("{}: {}", file, problem)};
}

} // namespace

std::expected<block_change, std::string> with_block(std::string_view text, bool is_new, const std::string &instance,
                                                    std::span<const session::named_host> hosts)
{
    const auto there = split(text, instance);
    if (!there)
        return std::unexpected{there.error()};
    const parts without{.before = std::string{text},
                        .after = {},
                        .was = is_new                                ? made
                               : text.empty() || text.back() == '\n' ? plain
                                                                     : unended};
    parts around = there->value_or(without);
    if (!around.before.empty() && around.before.back() != '\n')
        around.before += '\n';
    block_change change;
    change.text = around.before + begin_of(instance) + std::string{around.was};
    for (const session::named_host &host : hosts) {
        if (const std::string owner = owner_of(host.name, host.address, around.before + around.after); !owner.empty()) {
            change.left_out.push_back(fmt::format("{} is left out: the name is that of {} there", host.name, owner));
            continue;
        }
        change.text += fmt::format("{} {}\n", host.address, host.name);
        ++change.written;
    }
    change.text += end_of(instance) + around.after;
    return change;
}

std::expected<block_change, std::string> without_block(std::string_view text, const std::string &instance)
{
    const auto there = split(text, instance);
    if (!there)
        return std::unexpected{there.error()};
    const std::optional<parts> &block = *there;
    if (!block)
        return std::unexpected{fmt::format("it has no block of mrcd '{}'", instance)};
    parts around = *block;
    if (around.was == unended && around.before.ends_with('\n'))
        around.before.pop_back();
    block_change change;
    change.text = around.before + around.after;
    change.file_is_ours = around.was == made && change.text.empty();
    return change;
}

std::vector<std::string> write_block(const std::string &file, const std::string &instance,
                                     std::span<const session::named_host> hosts)
{
    const std::string target = target_of(file);
    const bool is_new = !std::filesystem::exists(target);
    auto change = with_block(is_new ? std::string{} : text_of(target), is_new, instance, hosts);
    if (!change)
        refuse(file, change.error());
    replace(target, change->text);
    change->left_out.push_back(fmt::format("{} has {} name{} of peers of mrcd '{}'", file, change->written,
                                           change->written == 1 ? "" : "s", instance));
    return std::move(change->left_out);
}

std::vector<std::string> remove_block(const std::string &file, const std::string &instance)
{
    const std::string target = target_of(file);
    if (!std::filesystem::exists(target))
        refuse(file, "there is no such file");
    const auto change = without_block(text_of(target), instance);
    if (!change)
        refuse(file, change.error());
    if (change->file_is_ours)
        std::filesystem::remove(target);
    else
        replace(target, change->text);
    return {fmt::format("{} has no names of peers of mrcd '{}' any more", file, instance)};
}

} // namespace mrc::tools
