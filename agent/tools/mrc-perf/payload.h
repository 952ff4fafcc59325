// SPDX-License-Identifier: Apache-2.0
// Where a run's bytes come from and what becomes of them: files with their SHA-256, or a pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "tools/mrc-perf/options.h"

namespace mrc::perf
{

// Bytes to send. Messages are filled in order.
class message_source
{
public:
    virtual ~message_source() = default;
    virtual void fill(std::uint64_t message, std::span<std::byte> into) = 0;
    [[nodiscard]] virtual std::string sha256() { return {}; } // of all, after the last message
};

// What became of received bytes.
struct payload_verdict {
    std::optional<bool> verified; // nothing when nobody looked
    std::string sha256;
    std::string complaint;
};

// Takes received messages, in order.
class payload_sink
{
public:
    virtual ~payload_sink() = default;
    virtual void take(std::uint64_t message, std::span<const std::byte> bytes) = 0;
    // After the last message. `sender_sha256` is what the sender says it sent, if it does.
    [[nodiscard]] virtual payload_verdict judge(const std::string &sender_sha256) = 0;
};

// A file that becomes shorter than plan.file_bytes meanwhile throws perf_error.
[[nodiscard]] std::unique_ptr<message_source> make_source(const test_plan &plan, const std::string &file);
// `output` empty: nothing is stored.
[[nodiscard]] std::unique_ptr<payload_sink> make_sink(const test_plan &plan, const std::string &output);

} // namespace mrc::perf
