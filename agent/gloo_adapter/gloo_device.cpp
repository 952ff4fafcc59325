// SPDX-License-Identifier: Apache-2.0
#include "gloo_adapter/gloo_device.h"

#include <gloo/common/error.h>

#include "gloo_adapter/create_device.h"
#include "gloo_adapter/gloo_context.h"
#include "messaging/failure.h"

namespace mrc::gloo_adapter
{

std::shared_ptr<gloo::transport::Context> gloo_device::createContext(int rank, int size)
{
    return std::make_shared<gloo_context>(shared_from_this(), rank, size);
}

std::shared_ptr<gloo::transport::Device> create_device()
{
    try {
        return std::make_shared<gloo_device>();
    } catch (const messaging::messaging_failure &failure) {
        throw gloo::InvalidOperationException(std::string{"mrc: "} + failure.what());
    }
}

} // namespace mrc::gloo_adapter
