// SPDX-License-Identifier: Apache-2.0
#include "client/embedded.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <dlfcn.h>

namespace mrc::client
{

namespace
{

constexpr const char *variable = "MRC_EMBEDDED";
constexpr const char *usual_configuration = "/etc/mrc/mrcd.toml";
constexpr const char *library = "mrc/libmrc-embedded.so"; // beside this library

// Empty: no daemon is asked for.
std::string_view wanted()
{
    const char *value = ::secure_getenv(variable);
    return value == nullptr || std::string_view{value} == "0" ? std::string_view{} : value;
}

void complain(const std::string &what)
{
    std::fprintf(stderr, "libmrc: %s: no daemon in this program: %s\n", variable, what.c_str());
}

std::string library_path()
{
    Dl_info self{};
    if (::dladdr(reinterpret_cast<const void *>(&embedded_daemon), &self) == 0)
        return library;
    return std::filesystem::path{self.dli_fname}.parent_path() / library;
}

const session::embedded_worker *start()
{
    const std::string_view value = wanted();
    if (value.empty())
        return nullptr;
    if (value != "1" && !value.starts_with('/')) {
        complain("found \"" + std::string{value} + "\"; allowed are 1, which means " + usual_configuration +
                 ", the path of another configuration of mrcd, from / on, and 0");
        return nullptr;
    }
    // Its threads stay until the program ends.
    void *loaded = ::dlopen(library_path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (loaded == nullptr) {
        complain(::dlerror());
        return nullptr;
    }
    const auto start_daemon = reinterpret_cast<session::start_embedded>(::dlsym(loaded, "mrc_embedded_start"));
    if (start_daemon == nullptr) {
        complain(::dlerror());
        return nullptr;
    }
    std::array<char, 1024> error{};
    const std::string configuration = value == "1" ? usual_configuration : std::string{value};
    const session::embedded_worker *started = start_daemon(configuration.c_str(), error.data(), error.size());
    if (started == nullptr)
        complain(error.data());
    else if (started->version != std::string_view{MRC_VERSION}) {
        complain("libmrc is version " MRC_VERSION ", libmrc-embedded.so " + std::string{started->version});
        return nullptr;
    }
    return started;
}

} // namespace

bool embedding_wanted()
{
    return !wanted().empty();
}

const session::embedded_worker *embedded_daemon()
{
    static const session::embedded_worker *const only = start();
    return only;
}

} // namespace mrc::client
