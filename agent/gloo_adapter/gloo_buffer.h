// SPDX-License-Identifier: Apache-2.0
// Gloo's unbound buffer: memory that sends to and receives from any rank of its context.
//
// What the buffer waits for is counted under the device's lock. A buffer that goes while a rank may still write into
// it, or is sent from it, takes the pair with that rank with it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <gloo/transport/unbound_buffer.h>

namespace mrc::gloo_adapter
{

class gloo_context;

class gloo_buffer : public gloo::transport::UnboundBuffer
{
public:
    gloo_buffer(std::shared_ptr<gloo_context> context, void *address, std::size_t bytes);
    gloo_buffer(const gloo_buffer &) = delete;
    gloo_buffer &operator=(const gloo_buffer &) = delete;
    ~gloo_buffer() override;

    // True: done, by the rank that is stored. False: aborted. Throw gloo::IoException: time-out, or the pair failed.
    bool waitRecv(int *rank, std::chrono::milliseconds timeout) override;
    bool waitSend(int *rank, std::chrono::milliseconds timeout) override;
    void abortWaitRecv() override;
    void abortWaitSend() override;

    void send(int rank, std::uint64_t slot, std::size_t offset, std::size_t bytes) override;
    void recv(int rank, std::uint64_t slot, std::size_t offset, std::size_t bytes) override;
    void recv(std::vector<int> ranks, std::uint64_t slot, std::size_t offset, std::size_t bytes) override;

    // Of the pairs, with the lock held.
    void on_sent(int rank) { complete(sends_, rank); }
    void on_received(int rank) { complete(receives_, rank); }
    void on_failure(const std::exception_ptr &why);

private:
    struct direction {
        const char *name = "";
        std::uint64_t done = 0;
        int rank = -1; // of the last that was done
        bool aborted = false;
        std::condition_variable changed;
    };
    void complete(direction &which, int rank);
    bool wait(direction &which, int *rank, std::chrono::milliseconds timeout);
    void abort(direction &which);
    [[nodiscard]] std::size_t length(std::size_t offset, std::size_t bytes) const;

    std::shared_ptr<gloo_context> context_;
    direction sends_;
    direction receives_;
    std::exception_ptr failure_;
};

[[nodiscard]] inline std::byte *at(const gloo_buffer &buffer, std::size_t offset)
{
    return static_cast<std::byte *>(buffer.ptr) + offset;
}

} // namespace mrc::gloo_adapter
