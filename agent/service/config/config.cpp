// SPDX-License-Identifier: Apache-2.0
#include "service/config/config.h"

#include <utility>

#include "options/print.h"
#include "options/read.h"
#include "service/config/options.h"

namespace mrc::service
{

config_result<daemon_config> parse_config(std::string_view text, const std::string &name)
{
    daemon_config config;
    auto origin = options::read(text, name, config_options(), config);
    if (!origin)
        return std::unexpected{std::move(origin).error()};
    config.origin = *std::move(origin);
    if (auto checked = complete_config(config); !checked)
        return std::unexpected{std::move(checked).error()};
    return config;
}

config_result<daemon_config> load_config(const std::string &path)
{
    const auto text = options::read_file(path);
    return text ? parse_config(*text, path) : std::unexpected{text.error()};
}

std::string print_config(const daemon_config &config)
{
    return options::print(config_options(), config.origin, &config,
                          [&](const std::string &name) { return is_of_fabric(config.fabric.mode, name); });
}

std::filesystem::path config_in_force(const std::filesystem::path &socket)
{
    return std::filesystem::path{socket}.replace_extension(".toml");
}

} // namespace mrc::service
