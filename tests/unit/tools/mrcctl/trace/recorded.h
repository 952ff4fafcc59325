// SPDX-License-Identifier: Apache-2.0
// Rows of a trace, made by hand.
#pragma once

#include <cstdint>

#include "protocol/trace_event.h"
#include "tools/mrcctl/trace/recording.h"

namespace mrc::test
{

[[nodiscard]] inline ctl::traced_row recorded(protocol::trace_kind kind, protocol::trace_reason reason,
                                              std::uint64_t time_ns, std::uint32_t qpn, std::uint32_t peer_qpn,
                                              std::uint32_t psn = 0, std::uint32_t ev = 0, std::uint64_t value = 0)
{
    return {{.time_ns = time_ns,
             .value = value,
             .qpn = qpn & MRC_QPN_MASK,
             .kind = static_cast<__u8>(kind),
             .peer_qpn = peer_qpn & MRC_QPN_MASK,
             .reason = static_cast<__u8>(reason),
             .psn = psn & MRC_PSN_MASK,
             .reserved = 0,
             .ev = ev},
            1};
}

} // namespace mrc::test
