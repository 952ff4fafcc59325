// SPDX-License-Identifier: Apache-2.0
// Gloo's device on this host's mrcd.
#pragma once

#include <memory>
#include <string>

#include <gloo/transport/device.h>

#include "messaging/fabric_endpoint.h"

namespace mrc::gloo_adapter
{

class gloo_device : public gloo::transport::Device, public std::enable_shared_from_this<gloo_device>
{
public:
    [[nodiscard]] std::string str() const override { return "mrc, device " + endpoint_.text(); }
    [[nodiscard]] const std::string &getPCIBusID() const override { return no_bus_; }
    [[nodiscard]] std::shared_ptr<gloo::transport::Context> createContext(int rank, int size) override;

    [[nodiscard]] messaging::fabric_endpoint &endpoint() { return endpoint_; }

private:
    messaging::fabric_endpoint endpoint_;
    std::string no_bus_;
};

} // namespace mrc::gloo_adapter
