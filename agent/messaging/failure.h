// SPDX-License-Identifier: Apache-2.0
// Why messaging cannot go on: one line for people. Thrown while starting up only.
#pragma once

#include <stdexcept>

namespace mrc::messaging
{

class messaging_failure : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

} // namespace mrc::messaging
