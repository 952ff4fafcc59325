// SPDX-License-Identifier: Apache-2.0
// The plug-in as NCCL has it: found by NCCL_NET_PLUGIN, looked up by one version's name, called through its table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "nccl_plugin/nccl_net.h"

namespace mrc::nccl_test
{

using nccl_plugin::result;
using connect_handle = std::array<std::byte, nccl_plugin::handle_bytes>;

// A call that did not succeed.
struct net_failure : std::runtime_error {
    net_failure(result which, const std::string &call);
    result code;
};

// What the plug-in has said last at the level of warnings.
[[nodiscard]] std::string last_warning();

struct net_properties {
    std::string name;
    int pointers = 0;
    int global = 0;
    int speed_mbps = 0;
    int most_connections = 0;
    int most_grouped = 0;
    int rail = -1;
    int plane = -1;
};

struct receive_order {
    void *data = nullptr;
    std::size_t bytes = 0;
    int tag = 0;
    void *memory = nullptr;
};

// A communicator's view of it: since version 11 init() is called for each.
class net
{
public:
    explicit net(int version); // 8, 11, 12
    net(const net &) = delete;
    net &operator=(const net &) = delete;
    ~net();

    [[nodiscard]] net_properties properties(int device = 0) const;
    // The calls throw net_failure; null is what NCCL has to ask again for.
    [[nodiscard]] void *listen(connect_handle &handle) const;
    [[nodiscard]] void *connect(connect_handle &handle) const;
    [[nodiscard]] void *accept(void *listener) const;
    [[nodiscard]] void *register_memory(void *connection, void *data, std::size_t bytes, int pointer = 1) const;
    void deregister(void *connection, void *memory) const;
    [[nodiscard]] void *send(void *sender, const void *data, std::size_t bytes, int tag, void *memory) const;
    [[nodiscard]] void *receive(void *receiver, std::span<const receive_order> orders) const;
    [[nodiscard]] bool test(void *request, int *bytes = nullptr) const;
    void flush(void *receiver, const receive_order &order) const;
    void close_send(void *sender) const;
    void close_recv(void *receiver) const;
    void close_listen(void *listener) const;

private:
    int version_;
    void *library_ = nullptr;
    const nccl_plugin::net_v8 *v8_ = nullptr;
    const nccl_plugin::net_v11 *v11_ = nullptr;
    const nccl_plugin::net_v12 *v12_ = nullptr;
    void *context_ = nullptr;

    // Calls that all versions have alike.
    template <typename Call>
    [[nodiscard]] result with_table(Call call) const;
};

} // namespace mrc::nccl_test
