// SPDX-License-Identifier: Apache-2.0
// Writes from one host of the simulated network to the other, one after the other, as many at a time as a program would
// keep in flight; and whether their bytes have arrived.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "sim_network.h"

namespace mrc::sim
{

inline protocol::qp_config usual_qp()
{
    protocol::qp_config config;
    config.local = protocol::qpn{0x100};
    config.peer = protocol::qpn{0x200};
    config.first_send = protocol::psn{0x1000};
    config.first_receive = protocol::psn{0x2000};
    config.payload_bytes = 3072;
    return config;
}

// Posts `count` writes of `bytes` each and keeps the send queue full until all have completed.
class write_stream
{
public:
    write_stream(network &net, host &from, host &to, std::uint64_t count, std::uint32_t bytes)
        : net_{net}, from_{from}, to_{to}, count_{count}, bytes_{bytes}
    {
    }

    bool done()
    {
        while (posted_ < count_ && from_.qp().outstanding() < 16 && from_.qp().state() != protocol::qp_state::error) {
            const std::size_t offset = posted_ * bytes_ % (from_.source.size() - bytes_ + 1);
            net_.post(from_, posted_++, offset, offset, bytes_);
        }
        return from_.completions().size() == count_ || from_.qp().state() == protocol::qp_state::error;
    }
    bool run(duration limit)
    {
        return net_.run([this] { return done(); }, net_.now() + limit);
    }
    void expect_delivered() const
    {
        ASSERT_EQ(from_.completions().size(), count_);
        for (std::uint64_t id = 0; id < count_; ++id) {
            ASSERT_EQ(from_.completions()[id].id, id);
            ASSERT_EQ(from_.completions()[id].status, protocol::completion_status::success);
            const std::size_t offset = id * bytes_ % (from_.source.size() - bytes_ + 1);
            ASSERT_TRUE(std::equal(from_.source.begin() + static_cast<std::ptrdiff_t>(offset),
                                   from_.source.begin() + static_cast<std::ptrdiff_t>(offset + bytes_),
                                   to_.memory.bytes().begin() + static_cast<std::ptrdiff_t>(offset)))
                << "write " << id;
        }
    }

private:
    network &net_;
    host &from_;
    host &to_;
    std::uint64_t count_;
    std::uint32_t bytes_;
    std::uint64_t posted_ = 0;
};

inline constexpr std::size_t memory_bytes = 4 << 20;
inline constexpr std::uint32_t write_bytes = 256 << 10;

} // namespace mrc::sim
