// SPDX-License-Identifier: Apache-2.0
// libbpf explains failures only through its logger: while this object lives, the warnings are kept instead of printed.
#pragma once

#include <string>

#include <bpf/libbpf.h>

namespace mrc::kernel::probes
{

// libbpf has one logger for the whole process: one thread. Objects may nest, the inner one starts with no warnings.
class libbpf_warnings
{
public:
    libbpf_warnings();
    libbpf_warnings(const libbpf_warnings &) = delete;
    libbpf_warnings &operator=(const libbpf_warnings &) = delete;
    ~libbpf_warnings();

    // The first warning since the object was made: the cause stands there, its consequences follow. Empty: none.
    [[nodiscard]] static const std::string &first();
    // What the kernel said to a netlink request, without the text that libbpf puts around it. Empty: nothing.
    [[nodiscard]] static const std::string &kernel_message();

private:
    libbpf_print_fn_t before_;
};

} // namespace mrc::kernel::probes
