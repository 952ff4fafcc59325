// SPDX-License-Identifier: Apache-2.0
// EV format profiles: where an EV stands in a packet, and how wide its fields are. Throws ctl_error when the daemon
// refuses.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrcctl/profiles.h"

namespace mrc::ctl
{

[[nodiscard]] boost::json::array ev_formats_of(const controller_device &device);
[[nodiscard]] boost::json::object ev_format_of(const controller_device &device, std::uint64_t id);

// OFFLINE, with fields of these widths in bits.
void create_ev_format(const controller_device &device, std::uint64_t id, mrc_ctl_ev_fmt_mode mode,
                      const std::vector<unsigned> &widths);

} // namespace mrc::ctl
