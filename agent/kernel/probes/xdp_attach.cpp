// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/xdp_attach.h"

#include <cerrno>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "kernel/probes/libbpf_warnings.h"
#include "kernel/probes/tiny_programs.h"

namespace mrc::kernel::probes
{

namespace
{

// A link is refused with a bare errno; asked by netlink, the kernel says why ("Peer MTU is too large to set XDP").
std::string reason_of_kernel(int program_fd, int ifindex, std::uint32_t flags)
{
    const libbpf_warnings warnings;
    if (bpf_xdp_attach(ifindex, program_fd, flags | XDP_FLAGS_UPDATE_IF_NOEXIST, nullptr) == 0)
        bpf_xdp_detach(ifindex, flags, nullptr);
    return libbpf_warnings::kernel_message();
}

attempt attach(unique_fd &link, int program_fd, int ifindex, std::uint32_t flags)
{
    LIBBPF_OPTS(bpf_link_create_opts, options);
    options.flags = flags;
    link = unique_fd{bpf_link_create(program_fd, ifindex, BPF_XDP, &options)};
    if (link)
        return worked();
    const int error = errno;
    if (error == EBUSY || error == EEXIST)
        return refused(error, "another XDP program is attached");
    return refused(error, reason_of_kernel(program_fd, ifindex, flags));
}

std::vector<std::uint32_t> links_of(std::uint32_t program_id, int ifindex)
{
    std::vector<std::uint32_t> ids;
    for (__u32 id = 0; bpf_link_get_next_id(id, &id) == 0;) {
        const unique_fd link{bpf_link_get_fd_by_id(id)};
        bpf_link_info info{};
        __u32 length = sizeof(info);
        if (link && bpf_obj_get_info_by_fd(link.get(), &info, &length) == 0 && info.type == BPF_LINK_TYPE_XDP &&
            info.prog_id == program_id && info.xdp.ifindex == static_cast<__u32>(ifindex))
            ids.push_back(id);
    }
    return ids;
}

} // namespace

xdp_attachment attach_xdp(int program_fd, int ifindex, xdp_mode mode)
{
    xdp_attachment result;
    if (mode != xdp_mode::generic)
        result.native_attempt = attach(result.link, program_fd, ifindex, XDP_FLAGS_DRV_MODE);
    result.native = result.attached();
    if (!result.attached() && mode != xdp_mode::native)
        result.generic_attempt = attach(result.link, program_fd, ifindex, XDP_FLAGS_SKB_MODE);
    return result;
}

xdp_support try_xdp(int ifindex, bool multi_buffer)
{
    const unique_fd program = load_xdp_action(XDP_PASS, multi_buffer);
    if (!program)
        return {.native = refused(errno, "cannot load an XDP program"),
                .generic = refused(errno, "cannot load an XDP program")};
    xdp_support support;
    support.native = attach_xdp(program.get(), ifindex, xdp_mode::native).native_attempt;
    support.generic = attach_xdp(program.get(), ifindex, xdp_mode::generic).generic_attempt;
    return support;
}

std::string xdp_holder::text() const
{
    return std::string{native ? "native" : "generic"} + " program " +
           (program.empty() ? std::to_string(program_id) : "'" + program + "'");
}

std::optional<xdp_holder> find_xdp_holder(int ifindex)
{
    LIBBPF_OPTS(bpf_xdp_query_opts, query);
    if (bpf_xdp_query(ifindex, 0, &query) != 0 || query.attach_mode == XDP_ATTACHED_NONE)
        return std::nullopt;
    xdp_holder holder{.program = {},
                      .program_id = query.prog_id,
                      .native = query.attach_mode != XDP_ATTACHED_SKB,
                      .links = links_of(query.prog_id, ifindex)};
    const unique_fd program{bpf_prog_get_fd_by_id(query.prog_id)};
    bpf_prog_info info{};
    __u32 length = sizeof(info);
    if (program && bpf_obj_get_info_by_fd(program.get(), &info, &length) == 0)
        holder.program = info.name;
    return holder;
}

} // namespace mrc::kernel::probes
