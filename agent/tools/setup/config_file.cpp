// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/config_file.h"

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "kernel/whole_file.h"

namespace mrc::setup
{

namespace
{

void require(const std::string &path, std::error_code error)
{
    if (error)
        throw std::runtime_error{fmt::format("cannot write {}: {}", path, error.message())};
}

std::error_code result_of(int returned)
{
    return returned == 0 ? std::error_code{} : std::error_code{errno, std::generic_category()};
}

// The old file has two names until the new one takes one of them, so that there is a configuration at any time. What an
// earlier setup kept goes only when this is there to take its place.
void keep_aside(const std::string &path)
{
    const std::string kept = replaced_path(path);
    const std::string scratch = kept + ".new";
    if (const auto error = result_of(::unlink(scratch.c_str())); error != std::errc::no_such_file_or_directory)
        require(scratch, error);
    const auto error = result_of(::link(path.c_str(), scratch.c_str()));
    if (error == std::errc::no_such_file_or_directory)
        return; // there is none to keep
    require(kept, error);
    const auto renamed = result_of(::rename(scratch.c_str(), kept.c_str()));
    ::unlink(scratch.c_str()); // rename() leaves it where both were names of the same file
    require(kept, renamed);
}

} // namespace

bool has_no_setting(std::string_view text)
{
    std::istringstream lines{std::string{text}};
    for (std::string line; std::getline(lines, line);)
        if (const auto first = line.find_first_not_of(" \t\r"); first != std::string::npos && line[first] != '#')
            return false;
    return true;
}

void write_config(const std::string &path, std::string_view text, bool replace)
{
    std::error_code failed;
    if (const auto folder = std::filesystem::path{path}.parent_path(); !folder.empty())
        std::filesystem::create_directories(folder, failed);
    require(path, failed);
    const std::string scratch = path + ".new";
    if (replace)
        keep_aside(path);
    const auto written = replace ? kernel::replace_file(path, scratch, text) : kernel::create_file(path, scratch, text);
    require(path, written ? std::error_code{} : written.error());
}

} // namespace mrc::setup
