// SPDX-License-Identifier: Apache-2.0
// Findings, and what they rest on, as JSON and in sentences.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

// {"instance", "healthy", "findings": […], "looked_at": {…}}; null: does not apply, or cannot be told.
[[nodiscard]] boost::json::object report_view(const std::string &instance, const snapshot &at, const findings &found);
[[nodiscard]] std::string report_text(const boost::json::object &report);

} // namespace mrc::ctl::diagnose
