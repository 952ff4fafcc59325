// SPDX-License-Identifier: Apache-2.0
// Why a queue pair of the worker has failed, in the words of events.
#pragma once

#include "datapath/worker_client.h"
#include "mrc/abi/maps.h"
#include "service/transition_log.h"

namespace mrc::service
{

[[nodiscard]] mrc_event_reason failure_of(const datapath::worker_qp &qp);
[[nodiscard]] queue_pair_names names_of(const datapath::worker_qp &qp);

} // namespace mrc::service
