// SPDX-License-Identifier: Apache-2.0
// One collective over buffers of one size, several of which stand side by side: what each rank puts in, the collective
// itself, and what has to come out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tools/mrc-collectives/group.h"
#include "tools/mrc-collectives/words.h"

namespace mrc::collectives
{

// Memory of what goes in and what comes out, the same for all sizes: a transport knows it once it has been used.
struct buffers {
    std::vector<word> in;
    std::vector<word> out;
    void provide(std::size_t words); // at least so many of each
};

class operation
{
public:
    // `words` of each buffer, a multiple of the ranks where each has a part (words_of).
    operation(const group &all, buffers &memory, std::size_t words, std::size_t slots);
    virtual ~operation() = default;
    operation(const operation &) = delete;
    operation &operator=(const operation &) = delete;

    virtual void prepare(std::size_t slot, std::uint64_t round) = 0;
    virtual void run(std::size_t slot) = 0;
    [[nodiscard]] virtual std::optional<difference> check(std::size_t slot, std::uint64_t round) const = 0;
    // That check() looks at.
    [[nodiscard]] virtual std::size_t result_words() const { return words_; }

    [[nodiscard]] std::size_t words() const { return words_; }
    [[nodiscard]] std::size_t slots() const { return slots_; }

protected:
    [[nodiscard]] std::span<word> in(std::size_t slot) const { return {memory_->in.data() + slot * words_, words_}; }
    [[nodiscard]] std::span<word> out(std::size_t slot) const { return {memory_->out.data() + slot * words_, words_}; }
    // Words of one rank's part.
    [[nodiscard]] std::size_t part() const { return words_ / all_->ranks(); }
    [[nodiscard]] std::span<word> part_of(std::span<word> buffer, std::uint32_t rank) const
    {
        return buffer.subspan(rank * part(), part());
    }
    [[nodiscard]] const group &all() const { return *all_; }

private:
    const group *all_;
    buffers *memory_;
    std::size_t words_;
    std::size_t slots_;
};

// Of a buffer of that many bytes: whole words, and where each rank has a part of it, whole words of each.
[[nodiscard]] std::size_t words_of(collective what, std::uint64_t bytes, std::uint32_t ranks);

// What one rank's link carries, for each byte of the buffer, by an algorithm that sends no byte twice.
[[nodiscard]] double bus_factor(collective what, std::uint32_t ranks);

// On `memory`, which has slots * words of each kind. Borrows both.
[[nodiscard]] std::unique_ptr<operation> make_operation(collective what, const group &all, buffers &memory,
                                                        std::size_t words, std::size_t slots);

} // namespace mrc::collectives
