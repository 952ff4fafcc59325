// SPDX-License-Identifier: Apache-2.0
// What active and passive endpoints answer alike.
#pragma once

#include <cstddef>

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include "messaging/interfaces.h"

namespace mrc::fi_provider
{

// fi_getname() and fi_getpeer(): -FI_ETOOSMALL where there is less room.
int tell_address(const messaging::socket_address &address, void *into, std::size_t *bytes);

// Options of passive endpoints, and what active ones have besides fi_cancel().
extern fi_ops_ep endpoint_options;
int get_option(fid_t of, int level, int name, void *into, std::size_t *bytes);

} // namespace mrc::fi_provider
