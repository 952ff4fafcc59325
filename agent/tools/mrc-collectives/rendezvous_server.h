// SPDX-License-Identifier: Apache-2.0
// Where ranks tell each other their addresses, before Gloo connects them: keys and values that rank 0 keeps, over TCP
// (tcp_store.h is its client). As PyTorch's TCPStore it trusts whoever can connect.
//
// A request is three numbers in network order, kind, bytes of the key and of the value, and both; a get is answered,
// once the key is set, by a number, the value's bytes, and these.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kernel/unique_fd.h"

namespace mrc::collectives
{

enum class store_request : std::uint32_t {
    set = 1,
    get = 2,
};

using request_head = std::array<std::uint32_t, 3>;
inline constexpr std::uint32_t longest_key = 4096;
inline constexpr std::uint32_t longest_value = 1 << 20;

// All of it, or false: the far end has gone, or a time-out of the socket's is over. What is sent goes in one piece: of
// several, each would wait for the far end's delayed acknowledgement of the one before.
[[nodiscard]] bool send_together(int fd, std::initializer_list<std::span<const char>> parts);
[[nodiscard]] bool receive_all(int fd, void *data, std::size_t bytes);

class rendezvous_server
{
public:
    // Listens there; throws std::runtime_error.
    rendezvous_server(const std::string &host, std::uint16_t port);
    ~rendezvous_server();
    rendezvous_server(const rendezvous_server &) = delete;
    rendezvous_server &operator=(const rendezvous_server &) = delete;

private:
    void accept_clients();
    void serve(int fd);
    [[nodiscard]] bool answer(int fd, const request_head &head);
    // False: the server ends.
    [[nodiscard]] bool wait_for(const std::string &key, std::vector<char> &value);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::vector<char>> values_;
    bool ends_ = false;
    kernel::unique_fd listening_;
    std::vector<kernel::unique_fd> clients_;
    std::vector<std::thread> serving_; // one for each client
    std::thread accepting_;
};

} // namespace mrc::collectives
