// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/operation.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>

namespace mrc::collectives
{

namespace
{

std::optional<difference> within(std::optional<difference> found, std::size_t first)
{
    if (found)
        found->index += first;
    return found;
}

class all_reduce_operation final : public operation
{
public:
    using operation::operation;

    void prepare(std::size_t slot, std::uint64_t round) override
    {
        write(in(slot), sent(all().rank(), 0, round));
        spoil(out(slot));
    }

    void run(std::size_t slot) override
    {
        gloo::AllreduceOptions wish{all().context()};
        wish.setInput(in(slot).data(), words());
        wish.setOutput(out(slot).data(), words());
        wish.setReduceFunction(
            [](void *to, const void *a, const void *b, std::size_t n) { gloo::sum<word>(to, a, b, n); });
        gloo::allreduce(wish);
    }

    [[nodiscard]] std::optional<difference> check(std::size_t slot, std::uint64_t round) const override
    {
        return compare_sum(out(slot), all().ranks(), round);
    }
};

class all_gather_operation final : public operation
{
public:
    using operation::operation;

    void prepare(std::size_t slot, std::uint64_t round) override
    {
        write(in(slot).first(part()), sent(all().rank(), 0, round));
        spoil(out(slot));
    }

    void run(std::size_t slot) override
    {
        gloo::AllgatherOptions wish{all().context()};
        wish.setInput(in(slot).data(), part());
        wish.setOutput(out(slot).data(), words());
        gloo::allgather(wish);
    }

    [[nodiscard]] std::optional<difference> check(std::size_t slot, std::uint64_t round) const override
    {
        for (std::uint32_t rank = 0; rank < all().ranks(); ++rank)
            if (const auto found = compare(part_of(out(slot), rank), sent(rank, 0, round)))
                return within(found, rank * part());
        return std::nullopt;
    }
};

// Gloo has it as an object of its older kind: bound to memory, which it reduces where it is; the rank's part of the
// result then stands at the begin.
class reduce_scatter_operation final : public operation
{
public:
    reduce_scatter_operation(const group &all, buffers &memory, std::size_t words, std::size_t slots)
        : operation{all, memory, words, slots}
    {
#ifndef __clang_analyzer__ // which thinks that Gloo's search of a rank's block may find none, and then divide by 0
        const std::vector<int> parts(all.ranks(), static_cast<int>(part()));
        for (std::size_t slot = 0; slot < slots; ++slot)
            reducing_.push_back(std::make_unique<gloo::ReduceScatterHalvingDoubling<word>>(
                all.context(), std::vector{out(slot).data()}, static_cast<int>(words), parts));
#endif
    }

    void prepare(std::size_t slot, std::uint64_t round) override { write(out(slot), sent(all().rank(), 0, round)); }
    void run(std::size_t slot) override { reducing_[slot]->run(); }

    [[nodiscard]] std::optional<difference> check(std::size_t slot, std::uint64_t round) const override
    {
        return compare_sum(out(slot).first(part()), all().ranks(), round, all().rank() * part());
    }

    [[nodiscard]] std::size_t result_words() const override { return part(); }

private:
    std::vector<std::unique_ptr<gloo::ReduceScatterHalvingDoubling<word>>> reducing_;
};

class all_to_all_operation final : public operation
{
public:
    using operation::operation;

    void prepare(std::size_t slot, std::uint64_t round) override
    {
        for (std::uint32_t rank = 0; rank < all().ranks(); ++rank)
            write(part_of(in(slot), rank), sent(all().rank(), rank, round));
        spoil(out(slot));
    }

    void run(std::size_t slot) override
    {
        gloo::AlltoallOptions wish{all().context()};
        wish.setInput(in(slot).data(), words());
        wish.setOutput(out(slot).data(), words());
        gloo::alltoall(wish);
    }

    [[nodiscard]] std::optional<difference> check(std::size_t slot, std::uint64_t round) const override
    {
        for (std::uint32_t rank = 0; rank < all().ranks(); ++rank)
            if (const auto found = compare(part_of(out(slot), rank), sent(rank, all().rank(), round)))
                return within(found, rank * part());
        return std::nullopt;
    }
};

class broadcast_operation final : public operation
{
public:
    using operation::operation;

    void prepare(std::size_t slot, std::uint64_t round) override
    {
        if (all().rank() == root)
            write(out(slot), sent(root, 0, round));
        else
            spoil(out(slot));
    }

    void run(std::size_t slot) override
    {
        gloo::BroadcastOptions wish{all().context()};
        wish.setOutput(out(slot).data(), words());
        wish.setRoot(static_cast<int>(root));
        gloo::broadcast(wish);
    }

    [[nodiscard]] std::optional<difference> check(std::size_t slot, std::uint64_t round) const override
    {
        return compare(out(slot), sent(root, 0, round));
    }

private:
    static constexpr std::uint32_t root = 0;
};

bool has_parts(collective what)
{
    return what == collective::all_gather || what == collective::reduce_scatter || what == collective::all_to_all;
}

} // namespace

void buffers::provide(std::size_t words)
{
    if (in.size() < words) {
        in.resize(words);
        out.resize(words);
    }
}

operation::operation(const group &all, buffers &memory, std::size_t words, std::size_t slots)
    : all_{&all}, memory_{&memory}, words_{words}, slots_{slots}
{
}

std::size_t words_of(collective what, std::uint64_t bytes, std::uint32_t ranks)
{
    const std::uint64_t unit = sizeof(word) * (has_parts(what) ? ranks : 1);
    return static_cast<std::size_t>((bytes + unit - 1) / unit * unit / sizeof(word));
}

double bus_factor(collective what, std::uint32_t ranks)
{
    const double others = double(ranks - 1) / ranks;
    return what == collective::all_reduce ? 2 * others : what == collective::broadcast ? 1 : others;
}

std::unique_ptr<operation> make_operation(collective what, const group &all, buffers &memory, std::size_t words,
                                          std::size_t slots)
{
    switch (what) {
    case collective::all_reduce:
        return std::make_unique<all_reduce_operation>(all, memory, words, slots);
    case collective::all_gather:
        return std::make_unique<all_gather_operation>(all, memory, words, slots);
    case collective::reduce_scatter:
        return std::make_unique<reduce_scatter_operation>(all, memory, words, slots);
    case collective::all_to_all:
        return std::make_unique<all_to_all_operation>(all, memory, words, slots);
    case collective::broadcast:
        return std::make_unique<broadcast_operation>(all, memory, words, slots);
    }
    return nullptr;
}

} // namespace mrc::collectives
