// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/tiny_programs.h"

#include <cerrno>
#include <cstdint>
#include <span>

#include <bpf/bpf.h>
#include <linux/pkt_cls.h>

namespace mrc::kernel::probes
{

namespace
{

template <std::uint8_t number>
constexpr bpf_insn set_register(std::int32_t value)
{
    return {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = number, .src_reg = 0, .off = 0, .imm = value};
}

constexpr bpf_insn leave = {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};

// As libbpf does for SEC("xdp"): a link's program can only be replaced by one that was loaded for the same hook.
unique_fd load(bpf_prog_type type, std::span<const bpf_insn> program, __u32 flags = 0)
{
    LIBBPF_OPTS(bpf_prog_load_opts, options);
    options.expected_attach_type = type == BPF_PROG_TYPE_XDP ? BPF_XDP : bpf_attach_type{};
    options.prog_flags = flags;
    const int fd = bpf_prog_load(type, "mrc_probe", "GPL", program.data(), program.size(), &options);
    if (fd < 0)
        errno = -fd;
    return unique_fd{fd};
}

} // namespace

unique_fd load_xdp_action(xdp_action action, bool multi_buffer)
{
    const bpf_insn program[] = {set_register<0>(action), leave};
    return load(BPF_PROG_TYPE_XDP, program, multi_buffer ? BPF_F_XDP_HAS_FRAGS : 0);
}

unique_fd load_xdp_redirect(int devmap_fd)
{
    const bpf_insn program[] = {
        // r1: the map, an instruction of 16 bytes
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .off = 0, .imm = devmap_fd},
        {.code = 0, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
        set_register<2>(0),        // row
        set_register<3>(XDP_DROP), // where the row is empty
        {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_redirect_map},
        leave,
    };
    return load(BPF_PROG_TYPE_XDP, program);
}

unique_fd load_tc_pass()
{
    const bpf_insn program[] = {set_register<0>(TC_ACT_OK), leave};
    return load(BPF_PROG_TYPE_SCHED_CLS, program);
}

} // namespace mrc::kernel::probes
