// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/init.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "options/read.h"
#include "service/config/config.h"
#include "tools/setup/config_file.h"
#include "tools/setup/run.h"

namespace mrc::setup
{

namespace
{

// A file that is there and cannot be read is no first start.
bool is_first_start(const std::string &file)
{
    if (!std::filesystem::exists(file))
        return true;
    const auto text = options::read_file(file);
    return text && has_no_setting(*text);
}

} // namespace

int run_init(const std::string &file)
{
    const char *const instance = std::getenv("MRC_INSTANCE");
    setup_wish wish;
    wish.file = file;
    wish.instance = instance == nullptr ? "" : instance;
    wish.yes = true;
    if (is_first_start(file))
        return run_setup(wish);
    if (const auto config = service::load_config(file); !config)
        throw std::runtime_error{config.error().text()};
    (void)restore_addresses(wish);
    fmt::print("{} has a configuration already: it stays as it is\n", file);
    return 0;
}

std::string first_step(const std::string &file)
{
    if (!is_first_start(file))
        return {};
    return fmt::format(
        "{}: there is no configuration yet. On hosts with cables or switches between them type mrcctl setup "
        "on each, at the same time (mrcd --init without a terminal); for other networks see mrcd(8)",
        file);
}

} // namespace mrc::setup
