// SPDX-License-Identifier: Apache-2.0
#include "gloo_adapter/gloo_buffer.h"

#include <utility>

#include <gloo/common/error.h>

#include "gloo_adapter/gloo_context.h"

namespace mrc::gloo_adapter
{

gloo_buffer::gloo_buffer(std::shared_ptr<gloo_context> context, void *address, std::size_t bytes)
    : UnboundBuffer{address, bytes}, context_{std::move(context)}
{
    sends_.name = "send";
    receives_.name = "recv";
}

gloo_buffer::~gloo_buffer()
{
    context_->forget(*this);
}

void gloo_buffer::complete(direction &which, int rank)
{
    ++which.done;
    which.rank = rank;
    which.changed.notify_one();
}

void gloo_buffer::on_failure(const std::exception_ptr &why)
{
    failure_ = why;
    sends_.changed.notify_all();
    receives_.changed.notify_all();
}

void gloo_buffer::abort(direction &which)
{
    const auto held = context_->lock();
    which.aborted = true;
    which.changed.notify_one();
}

void gloo_buffer::abortWaitRecv()
{
    abort(receives_);
}

void gloo_buffer::abortWaitSend()
{
    abort(sends_);
}

bool gloo_buffer::waitRecv(int *rank, std::chrono::milliseconds timeout)
{
    return wait(receives_, rank, timeout);
}

bool gloo_buffer::waitSend(int *rank, std::chrono::milliseconds timeout)
{
    return wait(sends_, rank, timeout);
}

bool gloo_buffer::wait(direction &which, int *rank, std::chrono::milliseconds timeout)
{
    auto held = context_->lock();
    if (timeout == gloo::transport::kUnsetTimeout)
        timeout = context_->getTimeout();
    const bool over =
        which.changed.wait_for(held, timeout, [&] { return which.done > 0 || which.aborted || failure_ != nullptr; });
    if (!over) {
        const std::string ranks = context_->ranks_of(*this);
        const std::string what = "mrc: Timed out waiting " + std::to_string(timeout.count()) + "ms for " + which.name +
                                 " operation to complete" + (ranks.empty() ? "" : ", with " + ranks);
        context_->fail(held, "mrc: closed after a time-out of this process: " + what);
        throw gloo::IoException(what);
    }
    if (which.done == 0 && !which.aborted)
        std::rethrow_exception(failure_);
    if (std::exchange(which.aborted, false))
        return false; // only this wait
    --which.done;
    if (rank != nullptr)
        *rank = which.rank;
    return true;
}

std::size_t gloo_buffer::length(std::size_t offset, std::size_t bytes) const
{
    if (bytes == kUnspecifiedByteCount && offset <= size)
        bytes = size - offset;
    if (bytes > 0 && (offset > size || bytes > size - offset))
        throw gloo::InvalidOperationException("mrc: " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                              " of a buffer of " + std::to_string(size));
    return bytes;
}

void gloo_buffer::send(int rank, std::uint64_t slot, std::size_t offset, std::size_t bytes)
{
    context_->pair_to(rank).send(this, slot, offset, length(offset, bytes));
}

void gloo_buffer::recv(int rank, std::uint64_t slot, std::size_t offset, std::size_t bytes)
{
    context_->pair_to(rank).recv(this, slot, offset, length(offset, bytes));
}

void gloo_buffer::recv(std::vector<int> ranks, std::uint64_t slot, std::size_t offset, std::size_t bytes)
{
    context_->receive_from_any(*this, slot, offset, length(offset, bytes), std::move(ranks));
}

} // namespace mrc::gloo_adapter
