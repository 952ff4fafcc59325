// SPDX-License-Identifier: Apache-2.0
#include "session/host_names.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

#include <arpa/inet.h>

namespace mrc::session
{

namespace
{

constexpr std::string_view this_host = "localhost";
constexpr std::string_view heading = "# The peers of mrcd that have names; see hosts in mrcctl(8).\n";

bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_alphanumeric(char letter)
{
    return is_digit(letter) || (lower(letter) >= 'a' && lower(letter) <= 'z');
}

// What inet_aton() reads as a part of an address: 10, 0x7f.
bool is_number(std::string_view label)
{
    const auto is_hexadecimal = [](char letter) {
        return is_digit(letter) || (lower(letter) >= 'a' && lower(letter) <= 'f');
    };
    return std::ranges::all_of(label, is_digit) || (label.size() >= 2 && label[0] == '0' && lower(label[1]) == 'x' &&
                                                    std::ranges::all_of(label.substr(2), is_hexadecimal));
}

bool is_address(const std::string &text)
{
    std::array<unsigned char, sizeof(in6_addr)> place{};
    const bool is_whole = text.find('\0') == std::string::npos; // inet_pton() reads up to there
    return is_whole && (::inet_pton(AF_INET6, text.c_str(), place.data()) == 1 ||
                        ::inet_pton(AF_INET, text.c_str(), place.data()) == 1);
}

std::string text_of_file(const std::filesystem::path &path)
{
    std::ifstream stream{path};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

std::vector<std::string> instances_in(const std::filesystem::path &run_folder)
{
    std::vector<std::string> names;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator{run_folder, error})
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

std::vector<std::string> between_commas(std::string_view text)
{
    std::vector<std::string> parts;
    std::istringstream stream{std::string{text}};
    for (std::string part; std::getline(stream, part, ',');)
        parts.push_back(part);
    return parts;
}

} // namespace

bool is_host_label(std::string_view text)
{
    return !text.empty() && text.size() <= most_label_bytes && text.front() != '-' && text.back() != '-' &&
           std::ranges::all_of(text, [](char letter) { return is_alphanumeric(letter) || letter == '-'; });
}

bool is_host_name(std::string_view text)
{
    if (text.size() > most_name_bytes)
        return false;
    std::string_view label;
    for (std::string_view rest = text;; rest.remove_prefix(label.size() + 1)) {
        label = rest.substr(0, rest.find('.'));
        if (!is_host_label(label))
            return false;
        if (label.size() == rest.size())
            return !is_number(label) && !is_same_name(label, this_host);
    }
}

bool is_same_name(std::string_view a, std::string_view b)
{
    return std::ranges::equal(a, b, {}, lower, lower);
}

std::filesystem::path names_file_of(const std::filesystem::path &socket)
{
    return std::filesystem::path{socket}.replace_extension(".hosts");
}

std::string to_hosts_text(std::span<const named_host> hosts)
{
    std::string text{heading};
    for (const named_host &host : hosts)
        text.append(host.address).append(" ").append(host.name).append(" # ").append(host.known_by).append("\n");
    return text;
}

std::vector<named_host> parse_hosts_text(std::string_view text)
{
    std::vector<named_host> hosts;
    std::istringstream lines{std::string{text}};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        named_host host;
        std::string mark;
        std::string more;
        if (words >> host.address >> host.name >> mark >> host.known_by && !(words >> more) && mark == "#" &&
            is_address(host.address) && is_host_name(host.name))
            hosts.push_back(std::move(host));
    }
    return hosts;
}

std::vector<named_host> known_hosts(std::string_view instances, const std::filesystem::path &run_folder)
{
    std::vector<named_host> hosts;
    for (const std::string &name : instances.empty() ? instances_in(run_folder) : between_commas(instances))
        std::ranges::move(parse_hosts_text(text_of_file(names_file_of(run_folder / name / "mrcd.sock"))),
                          std::back_inserter(hosts));
    return hosts;
}

std::vector<std::string> addresses_of_name(std::string_view name, std::span<const named_host> hosts)
{
    std::vector<std::string> addresses;
    for (const named_host &host : hosts)
        if (is_same_name(host.name, name) && std::ranges::find(addresses, host.address) == addresses.end())
            addresses.push_back(host.address);
    return addresses;
}

} // namespace mrc::session
