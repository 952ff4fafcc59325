// SPDX-License-Identifier: Apache-2.0
// Gloo's store of addresses, kept by rank 0 (rendezvous_server.h).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <gloo/rendezvous/store.h>

#include "kernel/unique_fd.h"

namespace mrc::collectives
{

class tcp_store : public gloo::rendezvous::Store
{
public:
    // Waits for the server as long as for any value. Throws std::runtime_error, as all of these do.
    tcp_store(std::string host, std::uint16_t port, std::chrono::seconds timeout);

    void set(const std::string &key, const std::vector<char> &value) override;
    // Once it is set: "rank 3 has not come to …" where the key is "rank 3", and it is not.
    std::vector<char> get(const std::string &key) override;
    void wait(const std::vector<std::string> &keys) override;
    void wait(const std::vector<std::string> &keys, const std::chrono::milliseconds &timeout) override;

private:
    void request(std::uint32_t kind, const std::string &key, const std::vector<char> &value);

    std::string host_;
    std::uint16_t port_;
    std::chrono::seconds timeout_;
    kernel::unique_fd socket_;
};

} // namespace mrc::collectives
