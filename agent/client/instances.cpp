// SPDX-License-Identifier: Apache-2.0
#include "client/instances.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "client/embedded.h"

namespace mrc::client
{

namespace
{

std::filesystem::path socket_of(const std::filesystem::path &folder)
{
    return folder / "mrcd.sock";
}

bool is_instance(const std::filesystem::path &folder)
{
    std::error_code error; // a folder that may not be searched has no socket for us
    return std::filesystem::is_socket(socket_of(folder), error);
}

// A name is one folder of a list: "../x", "a/b" and "," are none.
bool is_name(std::string_view name)
{
    return name != "." && name != ".." && name.find_first_of("/,") == std::string_view::npos;
}

// Whoever names what is none is told so by what connects.
std::vector<daemon_instance> named(std::string_view list, const std::filesystem::path &root)
{
    std::vector<daemon_instance> found;
    const auto add = [&](const std::string &name) {
        found.push_back({.name = name, .socket = is_name(name) ? socket_of(root / name) : "", .is_named = true});
    };
    for (std::string_view rest = list; !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string name{rest.substr(0, comma)};
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        const bool known = std::ranges::any_of(found, [&](const daemon_instance &other) { return other.name == name; });
        if (!name.empty() && !known)
            add(name);
    }
    if (found.empty()) // commas only
        add(std::string{list});
    return found;
}

std::vector<daemon_instance> all(const std::filesystem::path &root)
{
    std::vector<daemon_instance> found;
    std::error_code error;
    auto entry = std::filesystem::directory_iterator{root, error};
    while (!error && entry != std::filesystem::directory_iterator{}) {
        if (is_instance(entry->path()))
            found.push_back({.name = entry->path().filename(), .socket = socket_of(entry->path())});
        entry.increment(error);
    }
    std::ranges::sort(found, {}, &daemon_instance::name);
    return found;
}

} // namespace

std::vector<daemon_instance> find_instances_under(const std::string &root, const char *names)
{
    return names != nullptr && *names != '\0' ? named(names, root) : all(root);
}

std::vector<daemon_instance> find_instances()
{
    if (embedding_wanted()) {
        const session::embedded_worker *own = embedded_daemon();
        if (own == nullptr) // told; no other daemon stands in for it
            return {};
        if (std::getenv("MRC_INSTANCE") == nullptr)
            return {{.name = own->instance, .socket = own->socket}};
    }
    return find_instances_under("/run/mrc", std::getenv("MRC_INSTANCE"));
}

} // namespace mrc::client
