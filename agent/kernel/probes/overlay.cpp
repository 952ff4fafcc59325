// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/overlay.h"

#include <cerrno>
#include <memory>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/probes/libbpf_warnings.h"
#include "kernel/probes/tiny_programs.h"
#include "kernel/startup_error.h"
#include "kernel/tap_device.h"

namespace mrc::kernel::probes
{

namespace
{

attempt try_egress(int ifindex)
{
    const unique_fd program = load_tc_pass();
    if (!program)
        return refused(errno, "cannot load a TC program");
    const libbpf_warnings warnings;
    LIBBPF_OPTS(bpf_tc_hook, hook);
    hook.ifindex = ifindex;
    hook.attach_point = BPF_TC_EGRESS;
    if (const int result = bpf_tc_hook_create(&hook); result != 0)
        return refused(-result, "no clsact qdisc");
    LIBBPF_OPTS(bpf_tc_opts, filter);
    filter.prog_fd = program.get();
    if (const int result = bpf_tc_attach(&hook, &filter); result != 0)
        return refused(-result, libbpf_warnings::kernel_message());
    return worked();
}

} // namespace

overlay_support try_overlay()
{
    std::unique_ptr<tap_device> device;
    try {
        device = std::make_unique<tap_device>(tap_options{.name = "mrcprobe%d", .segmentation_offload = true});
    } catch (const startup_error &error) {
        return {.tap = refused(0, error.what()), .egress_program = untried("no TAP device")};
    }
    return {.tap = worked(), .egress_program = try_egress(device->ifindex())};
}

} // namespace mrc::kernel::probes
