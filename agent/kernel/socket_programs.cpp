// SPDX-License-Identifier: Apache-2.0
#include "kernel/socket_programs.h"

#include <cerrno>
#include <cstring>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "host_sockets.skel.h"

#include "kernel/probes/libbpf_warnings.h"
#include "kernel/startup_error.h"

namespace mrc::kernel
{

socket_programs::socket_programs(const mrc_sockets_config &config) : object_{host_sockets_bpf__open()}
{
    if (object_ == nullptr)
        fail_startup("cannot open BPF program host_sockets");
    static_assert(sizeof(object_->rodata->config) == sizeof(config));
    std::memcpy(&object_->rodata->config, &config, sizeof(config));
    const probes::libbpf_warnings warnings;
    if (const int result = bpf_object__load(object_->obj); result != 0) {
        host_sockets_bpf__destroy(object_);
        throw startup_error{
            "cannot load BPF program host_sockets, which [[sockets]] needs: " + std::string{std::strerror(-result)} +
            (probes::libbpf_warnings::first().empty() ? "" : "; " + probes::libbpf_warnings::first())};
    }
}

socket_programs::~socket_programs()
{
    host_sockets_bpf__destroy(object_);
}

std::map<std::string, int> socket_programs::maps() const
{
    std::map<std::string, int> found;
    for (const char *name : socket_maps)
        found.emplace(name, bpf_object__find_map_fd_by_name(object_->obj, name));
    return found;
}

bool socket_programs::set_ordinary(const mrc_ip &ordinary, const mrc_ordinary_row &row) const
{
    return bpf_map_update_elem(bpf_map__fd(object_->maps.ordinary), &ordinary, &row, BPF_ANY) == 0;
}

bool socket_programs::set_ordinary_of(const mrc_ip &address, const mrc_ip &ordinary) const
{
    return bpf_map_update_elem(bpf_map__fd(object_->maps.ordinary_of), &address, &ordinary, BPF_ANY) == 0;
}

std::expected<std::vector<unique_fd>, std::error_code> socket_programs::attach(int cgroup) const
{
    std::vector<unique_fd> links;
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, object_->obj)
    {
        unique_fd link{
            bpf_link_create(bpf_program__fd(program), cgroup, bpf_program__expected_attach_type(program), nullptr)};
        if (!link)
            return std::unexpected{std::error_code{errno, std::generic_category()}};
        links.push_back(std::move(link));
    }
    return links;
}

bool socket_programs::is_attached(const unique_fd &link)
{
    bpf_link_info info{};
    __u32 size = sizeof(info);
    return bpf_obj_get_info_by_fd(link.get(), &info, &size) == 0 && info.cgroup.cgroup_id != 0;
}

std::optional<mrc_adopted_row> socket_programs::adopted(std::uint64_t cgroup) const
{
    mrc_adopted_row row{};
    if (bpf_map_lookup_elem(bpf_map__fd(object_->maps.adopted), &cgroup, &row) != 0)
        return std::nullopt;
    return row;
}

bool socket_programs::set_adopted(std::uint64_t cgroup, const mrc_adopted_row &row) const
{
    return bpf_map_update_elem(bpf_map__fd(object_->maps.adopted), &cgroup, &row, BPF_EXIST) == 0;
}

} // namespace mrc::kernel
