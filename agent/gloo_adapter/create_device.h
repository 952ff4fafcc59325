// SPDX-License-Identifier: Apache-2.0
// What libmrc-gloo.so gives to C++ programs; PyTorch finds it by GLOO_DEVICE_TRANSPORT=MRC instead.
#pragma once

#include <memory>

#include <gloo/transport/device.h>

namespace mrc::gloo_adapter
{

// A device on the mrcd of this host: the only one, or the one that MRC_INSTANCE names. Throws gloo::Exception, which
// says why there is none.
[[gnu::visibility("default")]] std::shared_ptr<gloo::transport::Device> create_device();

} // namespace mrc::gloo_adapter
