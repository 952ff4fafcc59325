// SPDX-License-Identifier: Apache-2.0
// Connections that senders of this process are setting up. NCCL calls connect() with the same handle until it is given
// one; the handle carries the attempt's number from call to call.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "messaging/exchange_socket.h"
#include "nccl_plugin/connect_handle.h"
#include "nccl_plugin/greeting.h"
#include "nccl_plugin/sender.h"

namespace mrc::nccl_plugin
{

// One of them.
class connect_attempt
{
public:
    connect_attempt(std::shared_ptr<session> at, const connect_handle &to);

    [[nodiscard]] const connect_handle &to() const { return to_; }
    // A connection, or null with success: it takes longer.
    [[nodiscard]] result proceed(std::unique_ptr<sender> &made);

private:
    enum class stage : std::uint8_t { begin, connecting, greeting, waiting, establishing };

    [[nodiscard]] result step(messaging::exchange_step done, stage next);
    [[nodiscard]] result open();
    [[nodiscard]] result connect();
    [[nodiscard]] result failed(result outcome, const std::string &why) const;

    std::shared_ptr<session> session_;
    connect_handle to_;
    stage at_ = stage::begin;
    messaging::exchange_socket socket_;
    result outcome_ = result::success; // once the far end has been told that this end gives up
    std::unique_ptr<sender> connection_;
};

class connector
{
public:
    // As NCCL's connect(): the handle is changed.
    [[nodiscard]] result connect(const std::shared_ptr<session> &at, std::span<std::byte, handle_bytes> handle,
                                 std::unique_ptr<sender> &made);

private:
    using clock = std::chrono::steady_clock;
    struct entry {
        std::shared_ptr<connect_attempt> attempt;
        clock::time_point asked_at;
    };

    [[nodiscard]] std::shared_ptr<connect_attempt> find(connect_handle &to, const std::shared_ptr<session> &at);

    std::mutex mutex_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, entry> entries_; // those nobody asks for any more go with a later attempt
};

} // namespace mrc::nccl_plugin
