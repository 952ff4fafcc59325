// SPDX-License-Identifier: Apache-2.0
// Which mrcd is meant: the one named, else MRC_INSTANCE, else the only one that has pinned maps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mrc::ctl
{

struct instance {
    std::string name;
    std::filesystem::path pins; // directory of its pinned maps
};

inline constexpr const char *pin_root = "/sys/fs/bpf/mrc";

// Names of the instances below `root`, sorted. A directory without the map `host` is none: labs keep their switches'
// pins beside them. Throws ctl_error when it may not be read.
[[nodiscard]] std::vector<std::string> find_instances(const std::filesystem::path &root);

// `given` is the option's value, `environment` that of MRC_INSTANCE; empty: not given. Throws ctl_error.
[[nodiscard]] instance choose_instance(const std::string &given, const std::string &environment,
                                       const std::filesystem::path &root = pin_root);

} // namespace mrc::ctl
