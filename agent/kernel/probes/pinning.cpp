// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/pinning.h"

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <bpf/bpf.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "kernel/trusted_folder.h"
#include "kernel/unique_fd.h"

namespace mrc::kernel::probes
{

namespace
{

class signals_held_back
{
public:
    signals_held_back()
    {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    signals_held_back(const signals_held_back &) = delete;
    signals_held_back &operator=(const signals_held_back &) = delete;
    ~signals_held_back() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

std::filesystem::path existing(std::filesystem::path folder)
{
    std::error_code error;
    while (!std::filesystem::is_directory(folder, error) && folder != folder.root_path())
        folder = folder.parent_path();
    return folder;
}

bool is_bpf_file_system(const std::filesystem::path &folder)
{
    struct statfs about{};
    return ::statfs(folder.c_str(), &about) == 0 && about.f_type == BPF_FS_MAGIC;
}

} // namespace

attempt try_pinning(const std::string &folder, uid_t user)
{
    if (const auto problem = find_folder_problem(folder, user))
        return refused(0, problem->what);
    const std::filesystem::path at = existing(folder);
    const unique_fd map{
        bpf_map_create(BPF_MAP_TYPE_ARRAY, "mrc_probe", sizeof(std::uint32_t), sizeof(std::uint64_t), 1, nullptr)};
    if (!map)
        return refused(errno, "cannot create a map");
    const std::string path = at / ("mrc-doctor-" + std::to_string(::getpid()));
    const signals_held_back quiet;
    if (bpf_obj_pin(map.get(), path.c_str()) != 0) {
        const int error = errno;
        return refused(error, is_bpf_file_system(at) ? at.string() : at.string() + " is no BPF file system");
    }
    ::unlink(path.c_str());
    return worked(at.string());
}

} // namespace mrc::kernel::probes
