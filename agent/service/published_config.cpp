// SPDX-License-Identifier: Apache-2.0
#include "service/published_config.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "kernel/whole_file.h"

namespace mrc::service
{

std::string published_config::publish(daemon_config config)
{
    std::error_code ignored;
    if (auto whole = std::filesystem::absolute(config.origin.file, ignored); !whole.empty())
        config.origin.file = std::move(whole).string();
    path_ = config_in_force(config.daemon.socket).string();
    const auto written = kernel::replace_file(path_, path_ + ".new", print_config(config));
    return written ? std::string{} : fmt::format("cannot write {}: {}", path_, written.error().message());
}

published_config::~published_config()
{
    std::error_code ignored;
    if (!path_.empty())
        std::filesystem::remove(path_, ignored);
}

} // namespace mrc::service
