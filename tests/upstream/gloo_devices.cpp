// SPDX-License-Identifier: Apache-2.0
// Devices of MRC where Gloo's test suite asks for one of any transport: in the place of its base_test.cc, by
// scripts/upstream-tests.
#include "gloo/test/base_test.h"
#include "gloo_adapter/create_device.h"

namespace gloo::test
{

std::shared_ptr<::gloo::transport::Device> createDevice(Transport)
{
    return mrc::gloo_adapter::create_device();
}

} // namespace gloo::test
