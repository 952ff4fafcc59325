// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/libbpf_warnings.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace mrc::kernel::probes
{

namespace
{

std::string first_warning;
std::string message_of_kernel;

int keep(libbpf_print_level level, const char *format, va_list arguments)
{
    constexpr std::string_view kernel_prefix = "Kernel error message: ";
    if (level != LIBBPF_WARN)
        return 0;
    std::array<char, 512> buffer{};
    std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
    std::string line{buffer.data()};
    line.erase(line.find_last_not_of('\n') + 1);
    if (const auto at = line.find(kernel_prefix); at != std::string::npos && message_of_kernel.empty())
        message_of_kernel = line.substr(at + kernel_prefix.size());
    if (first_warning.empty())
        first_warning = std::move(line);
    return 0;
}

} // namespace

libbpf_warnings::libbpf_warnings() : before_{libbpf_set_print(keep)}
{
    first_warning.clear();
    message_of_kernel.clear();
}

libbpf_warnings::~libbpf_warnings()
{
    libbpf_set_print(before_);
}

const std::string &libbpf_warnings::first()
{
    return first_warning;
}

const std::string &libbpf_warnings::kernel_message()
{
    return message_of_kernel;
}

} // namespace mrc::kernel::probes
