// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/entry.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "tools/mrc-switch/pins.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <switch_entry.skel.h>

namespace mrc::lab_switch
{
namespace
{

constexpr const char *program_name = "switch_entry";
constexpr const char *map_name = "sw_switches";

[[noreturn]] void fail(const std::filesystem::path &path, int error)
{
    throw switch_error{fmt::format("share {}: {}", path.string(), std::strerror(error))};
}

kernel::unique_fd open_folder(const std::filesystem::path &path)
{
    return kernel::unique_fd{open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

struct destroy_entry {
    void operator()(switch_entry_bpf *object) const { switch_entry_bpf__destroy(object); }
};

} // namespace

// One at a time makes the pins or removes them.
kernel::unique_fd shared_entry::hold_folder_above() const
{
    kernel::unique_fd above = open_folder(directory_.parent_path());
    if (!above || flock(above.get(), LOCK_EX) != 0)
        fail(directory_.parent_path(), errno);
    return above;
}

shared_entry::shared_entry(std::filesystem::path directory) : directory_{std::move(directory)}
{
    const kernel::unique_fd turn = hold_folder_above();
    std::error_code error;
    std::filesystem::create_directory(directory_, error);
    shared_ = open_folder(directory_);
    if (!shared_ || flock(shared_.get(), LOCK_SH | LOCK_NB) != 0)
        fail(directory_, errno);
    program_.reset(bpf_obj_get((directory_ / program_name).c_str()));
    switches_.reset(bpf_obj_get((directory_ / map_name).c_str()));
    if (!program_ || !switches_)
        load_and_pin();
}

void shared_entry::load_and_pin()
{
    const std::unique_ptr<switch_entry_bpf, destroy_entry> object{switch_entry_bpf__open_and_load()};
    if (!object)
        fail(directory_, errno);
    std::error_code ignored;
    for (const char *left : {program_name, map_name}) // one without the other
        std::filesystem::remove(directory_ / left, ignored);
    const int program = bpf_program__fd(object->progs.switch_entry);
    const int map = bpf_map__fd(object->maps.sw_switches);
    if (bpf_obj_pin(program, (directory_ / program_name).c_str()) != 0 ||
        bpf_obj_pin(map, (directory_ / map_name).c_str()) != 0)
        fail(directory_, errno);
    program_.reset(fcntl(program, F_DUPFD_CLOEXEC, 0));
    switches_.reset(fcntl(map, F_DUPFD_CLOEXEC, 0));
}

shared_entry::~shared_entry()
{
    for (const std::uint32_t ifindex : added_)
        bpf_map_delete_elem(switches_.get(), &ifindex);
    const kernel::unique_fd above = open_folder(directory_.parent_path());
    if (!above || flock(above.get(), LOCK_EX) != 0 || flock(shared_.get(), LOCK_EX | LOCK_NB) != 0)
        return; // others use it
    std::error_code ignored;
    for (const char *name : {program_name, map_name})
        std::filesystem::remove(directory_ / name, ignored);
    std::filesystem::remove(directory_, ignored);
}

bool shared_entry::add(std::uint32_t ifindex, int program_fd)
{
    if (bpf_map_update_elem(switches_.get(), &ifindex, &program_fd, BPF_ANY) != 0)
        return false; // beyond the table, or of another kind than what stands there
    added_.push_back(ifindex);
    return true;
}

} // namespace mrc::lab_switch
