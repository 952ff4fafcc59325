// SPDX-License-Identifier: Apache-2.0
// Metrics as Prometheus reads them: the text exposition format, version 0.0.4,
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
#pragma once

#include <string>

#include <boost/json/array.hpp>

namespace mrc::ctl
{

// Of families of samples: {"name", "type", "help", "samples": [{"labels": {name: text}, "value": number}]}. Names and
// help texts are taken as they are, values of labels are escaped. A family without samples leaves nothing.
[[nodiscard]] std::string exposition_of(const boost::json::array &families);

} // namespace mrc::ctl
