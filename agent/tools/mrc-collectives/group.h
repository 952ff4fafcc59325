// SPDX-License-Identifier: Apache-2.0
// All ranks, connected by the transport that is measured; and what they tell each other by it besides.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <gloo/context.h>

#include "tools/mrc-collectives/options.h"
#include "tools/mrc-collectives/rendezvous_server.h"

namespace mrc::collectives
{

class group
{
public:
    // Once all ranks have come. Throws what Gloo does, and std::runtime_error.
    explicit group(const collectives_options &chosen);

    [[nodiscard]] const std::shared_ptr<gloo::Context> &context() const { return context_; }
    [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(context_->rank); }
    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(context_->size); }

    // Ends when all have come to it.
    void barrier() const;
    // Of each number, that of the rank that has the greatest.
    void greatest(std::span<double> numbers) const;
    [[nodiscard]] std::uint64_t sum(std::uint64_t number) const;

private:
    std::optional<rendezvous_server> server_; // rank 0's: others ask it until all are connected
    std::shared_ptr<gloo::Context> context_;
};

} // namespace mrc::collectives
