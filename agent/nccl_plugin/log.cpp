// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/log.h"

#include <atomic>

namespace mrc::nccl_plugin
{

namespace
{

std::atomic<log_function> logger{nullptr};

void write_line(nccl_log_level level, unsigned long about, const std::string &line)
{
    if (const log_function function = logger.load(std::memory_order_acquire); function != nullptr)
        function(level, about, "nccl_plugin", 0, "NET/MRC : %s", line.c_str());
}

} // namespace

void log_to(log_function function)
{
    logger.store(function, std::memory_order_release);
}

void warn(const std::string &line)
{
    write_line(nccl_log_level::warn, log_all, line);
}

void inform(const std::string &line)
{
    write_line(nccl_log_level::info, log_net, line);
}

} // namespace mrc::nccl_plugin
