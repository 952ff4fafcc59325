// SPDX-License-Identifier: Apache-2.0
// What the controller's commands show, for reading.
#pragma once

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace mrc::ctl
{

[[nodiscard]] std::string ev_formats_text(const boost::json::array &formats);
[[nodiscard]] std::string ev_format_text(const boost::json::object &format);
[[nodiscard]] std::string ev_profiles_text(const boost::json::array &profiles);
// With fields and EVs where the view has them.
[[nodiscard]] std::string ev_profile_text(const boost::json::object &profile);
// Rows of an operation on EVs.
[[nodiscard]] std::string entries_text(const boost::json::array &rows);
[[nodiscard]] std::string cc_profiles_text(const boost::json::array &profiles);
[[nodiscard]] std::string cc_profile_text(const boost::json::object &profile);
[[nodiscard]] std::string probes_text(const boost::json::array &rows);
[[nodiscard]] std::string port_state_text(const boost::json::object &port);
// "EV profile 7 is ONLINE"
[[nodiscard]] std::string state_text(const char *name, const boost::json::object &profile);

} // namespace mrc::ctl
