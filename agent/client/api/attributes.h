// SPDX-License-Identifier: Apache-2.0
// Attributes of queue pairs, between verbs and MRC structures on one side and the daemon's on the other. Which of them
// have to be there at which transition is laxer than mrc.h says: what programs leave out has a default, what verbs has
// and MRC has not (time-outs of RC, alternate paths) is ignored.
#pragma once

#include <cstdint>
#include <span>

#include "client/api/objects.h"
#include "client/boundary.h"
#include "mrc/report.h"

namespace mrc::client
{

// EINVAL for attributes that do not exist or cannot be. The mask is empty when there is nothing to ask the daemon for.
[[nodiscard]] result<mrc::session::qp_attributes> request_of(const mrc_qp &qp, const ibv_qp_attr *vattr, int vmask,
                                                             const mrc_qp_attr *mattr, int mmask);

// What a hint says, for a request.
void take_hint(const mrc_qp_hint_attr &hint, mrc::session::qp_attributes &wanted);

// Keeps for queries what the daemon does not.
void remember(mrc_qp &qp, const ibv_qp_attr *vattr, int vmask);

// Fills in what is asked for, as it is in effect.
void report(const mrc_qp &qp, const mrc::session::qp_attributes &now, ibv_qp_attr *vattr, int vmask, mrc_qp_attr *mattr,
            int mmask);

// The page of mrc/report.h that was chosen.
result<void> report_vendor(const mrc_qp &qp, std::span<std::uint8_t, MRC_MAX_VENDOR_CFG_SIZE> to);

} // namespace mrc::client
