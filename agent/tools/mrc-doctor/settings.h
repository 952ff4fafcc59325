// SPDX-License-Identifier: Apache-2.0
// A port's settings, which are read and not tried.
#pragma once

#include <optional>

#include "tools/mrc-doctor/subject.h"

namespace mrc::doctor
{

[[nodiscard]] finding examine_link(const subject &of);
[[nodiscard]] finding examine_mtu(const subject &of);
// What is known of the driver without trying (service/ports/nic_drivers.h), for programs that take packets of several
// buffers or not, on a machine of so many CPUs. Null: nothing is.
[[nodiscard]] std::optional<finding> examine_driver(const subject &of, bool several_buffers, std::uint32_t cpus);
[[nodiscard]] finding examine_checksum_offload(const subject &of);
[[nodiscard]] finding examine_receive_offload(const subject &of);
// Where fewer queues are served than there are, packets must be kept off the others.
[[nodiscard]] finding examine_steering(const subject &of);

} // namespace mrc::doctor
