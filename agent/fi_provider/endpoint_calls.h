// SPDX-License-Identifier: Apache-2.0
// libfabric's tables of functions of an active endpoint.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

namespace mrc::fi_provider
{

extern fi_ops endpoint_ops;
extern fi_ops_ep active_options;
extern fi_ops_cm connecting_calls;
extern fi_ops_msg message_calls;
extern fi_ops_rma memory_calls;

} // namespace mrc::fi_provider
