// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/cgroups.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mrcctl/argument_list.h"
#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

constexpr std::string_view command_prefix = "mrc-run-";

std::string text_of(const std::filesystem::path &path)
{
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

std::filesystem::path required_root()
{
    const std::filesystem::path root = cgroup_root(text_of("/proc/self/mountinfo"));
    if (root.empty())
        throw ctl_error{"cgroup v2 is mounted nowhere, and programs of v1 cannot be adopted: mount it, as by mount -t "
                        "cgroup2 none /sys/fs/cgroup/unified"};
    return root;
}

// Of earlier commands whose mrcctl was killed; one in which processes are left stays.
void remove_left_over(const std::filesystem::path &parent)
{
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator{parent, error}) {
        const std::string name = entry.path().filename();
        pid_t owner = 0;
        if (!name.starts_with(command_prefix) ||
            std::from_chars(name.data() + command_prefix.size(), name.data() + name.size(), owner).ec != std::errc{})
            continue;
        if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH)
            ::rmdir(entry.path().c_str());
    }
}

bool write_process(const char *file, std::string_view process)
{
    const kernel::unique_fd processes{::open(file, O_WRONLY | O_CLOEXEC)};
    return processes &&
           ::write(processes.get(), process.data(), process.size()) == static_cast<ssize_t>(process.size());
}

// What the command prints on standard output; empty when it fails.
std::string output_of(const std::vector<std::string> &command)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return {};
    const kernel::unique_fd reading{ends[0]};
    kernel::unique_fd writing{ends[1]};
    const std::vector<char *> arguments = argument_list(command);
    const kernel::unique_fd nowhere{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(writing.get(), STDOUT_FILENO);
        ::dup2(nowhere.get(), STDERR_FILENO); // an error is one line, and the caller's
        ::execvp(arguments.front(), arguments.data());
        ::_exit(127);
    }
    writing.reset();
    std::string text;
    std::array<char, 512> piece{};
    for (ssize_t got = 0; (got = ::read(reading.get(), piece.data(), piece.size())) > 0;)
        text.append(piece.data(), static_cast<std::size_t>(got));
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0)
        return {};
    return text;
}

} // namespace

std::filesystem::path cgroup_root(std::string_view mountinfo)
{
    std::istringstream lines{std::string{mountinfo}};
    for (std::string line; std::getline(lines, line);) {
        // proc(5): … root mount-point options … - type source …
        const auto dash = line.find(" - ");
        if (dash == std::string::npos || !line.substr(dash + 3).starts_with("cgroup2 "))
            continue;
        std::istringstream fields{line};
        std::string id;
        std::string parent;
        std::string device;
        std::string root;
        std::string at;
        fields >> id >> parent >> device >> root >> at;
        return at;
    }
    return {};
}

std::string cgroup_path(std::string_view cgroups)
{
    constexpr std::string_view unified = "0::";
    std::istringstream lines{std::string{cgroups}};
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(unified))
            return line.substr(unified.size());
    return {};
}

std::filesystem::path own_cgroup()
{
    const std::filesystem::path root = required_root();
    const std::string path = cgroup_path(text_of("/proc/self/cgroup"));
    return root / std::filesystem::path{path}.relative_path();
}

std::filesystem::path cgroup_of_unit(const std::string &unit)
{
    const std::filesystem::path root = required_root();
    std::string path = output_of({"systemctl", "show", "--property=ControlGroup", "--value", "--", unit});
    path.erase(path.find_last_not_of('\n') + 1);
    if (path.empty() || path == "/")
        throw ctl_error{fmt::format("unit '{}' has no cgroup: systemctl does not know it, or it does not run (--cgroup "
                                    "takes any folder)",
                                    unit)};
    return root / std::filesystem::path{path}.relative_path();
}

kernel::unique_fd open_cgroup(const std::filesystem::path &folder)
{
    kernel::unique_fd opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!opened)
        throw ctl_error{fmt::format("cannot open cgroup '{}': {}", folder.string(), std::strerror(errno))};
    return opened;
}

command_cgroup::command_cgroup()
    : parent_{own_cgroup()}, folder_{parent_ / fmt::format("{}{}", command_prefix, ::getpid())},
      processes_{folder_ / "cgroup.procs"}
{
    remove_left_over(parent_);
    if (::mkdir(folder_.c_str(), 0755) != 0)
        throw ctl_error{fmt::format(
            "cannot make cgroup '{}': {}{}", folder_.string(), std::strerror(errno),
            errno == EACCES ? "; allowed is root, or a user in a cgroup that is his: systemd-run --user --scope "
                              "--property=Delegate=yes mrcctl run ..."
                            : "")};
}

command_cgroup::~command_cgroup()
{
    const std::string back = parent_ / "cgroup.procs";
    // A process may fork while it is moved: what is left is moved again.
    constexpr int attempts = 100;
    for (int i = 0; i < attempts && ::rmdir(folder_.c_str()) != 0 && errno == EBUSY; ++i) {
        std::istringstream processes{text_of(processes_)};
        for (std::string process; std::getline(processes, process);)
            write_process(back.c_str(), process);
    }
}

bool command_cgroup::enter() const
{
    return write_process(processes_.c_str(), "0");
}

} // namespace mrc::ctl
