// SPDX-License-Identifier: Apache-2.0
// What views.h and rates.h give as JSON, as tables for reading.
#pragma once

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace mrc::ctl
{

// All members of an object, a line each, counters by their own names.
[[nodiscard]] std::string members_text(const boost::json::object &of);
[[nodiscard]] std::string status_text(const boost::json::object &status);
[[nodiscard]] std::string clients_text(const boost::json::array &clients);
[[nodiscard]] std::string client_text(const boost::json::object &client);
[[nodiscard]] std::string qps_text(const boost::json::array &qps);
[[nodiscard]] std::string qp_text(const boost::json::object &qp);
[[nodiscard]] std::string ports_text(const boost::json::array &ports);
[[nodiscard]] std::string paths_text(const boost::json::array &paths);
// Of path_rates.h.
[[nodiscard]] std::string path_rates_text(const boost::json::array &paths);
[[nodiscard]] std::string path_text(const boost::json::object &path);
// Verdicts that counted anything, or all.
[[nodiscard]] std::string counters_text(const boost::json::object &counters, bool all);
// At most `lines` lines; 0: no limit.
[[nodiscard]] std::string top_text(const boost::json::object &top, std::size_t lines);

} // namespace mrc::ctl
