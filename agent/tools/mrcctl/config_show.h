// SPDX-License-Identifier: Apache-2.0
// `mrcctl config`: the configuration that a daemon has in force.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>

namespace CLI
{
class App;
}

namespace mrc::ctl
{

struct invocation;

void add_config(CLI::App &app, invocation &chosen);

// What service::print_config() has made, an object for each option: its key ("port[1].device"), its value, and the
// origin of that ("default", or file:line).
[[nodiscard]] boost::json::array options_in(std::string_view printed);

} // namespace mrc::ctl
