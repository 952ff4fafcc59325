// SPDX-License-Identifier: Apache-2.0
// What NCCL calls, whatever the version of the interface. No exception leaves these functions.
#pragma once

#include "nccl_plugin/nccl_net.h"

namespace mrc::nccl_plugin::calls
{

[[nodiscard]] result open_context(void **context, log_function log);
[[nodiscard]] result close_context(void *context);
[[nodiscard]] result devices(int *count);
[[nodiscard]] result describe(int device, properties_v12 &properties);

[[nodiscard]] result listen(void *context, int device, void *handle, void **listener);
[[nodiscard]] result connect(void *context, int device, void *handle, void **sender);
[[nodiscard]] result accept(void *listener, void **receiver);
[[nodiscard]] result close_listen(void *listener);
[[nodiscard]] result close(void *connection);

[[nodiscard]] result register_memory(void *connection, void *data, std::size_t bytes, int pointer, void **memory);
[[nodiscard]] result release_memory(void *connection, void *memory);
[[nodiscard]] result send(void *sender, void *data, std::size_t bytes, int tag, void *memory, void **request);
// `bytes` gives the size of a buffer.
template <typename Size>
[[nodiscard]] result receive(void *receiver, int count, void **data, const Size *bytes, const int *tags, void **memory,
                             void **request);
[[nodiscard]] result test(void *request, int *done, int *bytes);

} // namespace mrc::nccl_plugin::calls
