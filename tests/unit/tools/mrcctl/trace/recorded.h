// SPDX-License-Identifier: Apache-2.0
// Rows of a trace, made by hand.
#pragma once

#include <cstdint>

#include "protocol/trace_event.h"
#include "tools/mrcctl/trace/recording.h"

namespace mrc::test
{

[[nodiscard]] inline mrc_trace_row recorded(protocol::trace_kind kind, protocol::trace_reason reason,
                                            std::uint64_t time_ns, std::uint32_t qpn, std::uint32_t peer_qpn,
                                            std::uint32_t psn = 0, std::uint32_t ev = 0, std::uint64_t value = 0)
{
    return {.number = 1,
            .time_ns = time_ns,
            .value = value,
            .qpn = qpn,
            .peer_qpn = peer_qpn,
            .psn = psn,
            .ev = ev,
            .kind = static_cast<__u16>(kind),
            .reason = static_cast<__u16>(reason),
            .reserved = 0};
}

} // namespace mrc::test
