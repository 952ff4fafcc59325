// SPDX-License-Identifier: Apache-2.0
// Keeps what the model knows of the lab right, whoever changes it.
#pragma once

#include <filesystem>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "tools/mrc-view/model.h"

namespace mrc::view
{

// Asks mrc-lab again whenever the lab's state has been written, looked at every `look_period`. Does not end.
[[nodiscard]] boost::asio::awaitable<void> follow_lab(boost::asio::io_context &context, view_model &model,
                                                      std::filesystem::path mrc_lab);

} // namespace mrc::view
