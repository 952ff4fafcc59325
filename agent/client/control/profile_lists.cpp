// SPDX-License-Identifier: Apache-2.0
// mrc/control.h: lists of profiles, how long calls wait, and why one failed.
#include "mrc/control.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "client/boundary.h"
#include "client/control/requests.h"
#include "client/export.h"
#include "client/failure_text.h"

using namespace mrc::client;

namespace
{

// Longer than any reply's text. Plain bytes: a thread that ends has nothing to run for it.
thread_local std::array<char, 256> last_failure{};

result<void> listed(const mrc_context *context, mrc_ctl_profile_list list, std::uint64_t *ids, int &count)
{
    auto request = control_request_of(mrc::session::control_kind::list_profiles, 0, 0);
    request.operation = static_cast<std::uint32_t>(list);
    request.capacity = static_cast<std::uint32_t>(count);
    do {
        const auto answer = ask(*context->daemon, request, {}, sizeof(std::uint64_t));
        if (!answer)
            return std::unexpected{answer.error()};
        const std::uint32_t total = answer->reply.total;
        if (answer->reply.error == E2BIG)
            count = static_cast<int>(total);
        if (auto done = outcome_of(*answer); !done)
            return done;
        if (total > request.capacity || answer->reply.count > total - request.first ||
            (answer->reply.count == 0 && request.first < total))
            return refused(EIO, "a reply with another number of elements than it says");
        for (std::uint32_t i = 0; i < answer->reply.count; ++i)
            ids[request.first + i] = answer->element<std::uint64_t>(i);
        request.first += answer->reply.count;
        count = static_cast<int>(total);
    } while (request.first < static_cast<std::uint32_t>(count));
    return {};
}

} // namespace

void mrc::client::remember_failure(std::string_view text) noexcept
{
    const std::size_t length = std::min(text.size(), last_failure.size() - 1);
    std::copy_n(text.begin(), length, last_failure.begin());
    last_failure[length] = '\0';
}

extern "C" MRC_EXPORT int mrc_ctl_list_profiles(mrc_context *mrc_ctx, mrc_ctl_profile_list list, uint64_t *ids,
                                                int *count)
{
    return minus_one_of([&]() -> result<void> {
        if (auto right = check_context(mrc_ctx); !right)
            return right;
        if (count == nullptr || *count < 0 || (ids == nullptr && *count != 0))
            return refused(EINVAL, "no place for the profiles");
        return listed(mrc_ctx, list, ids, *count);
    });
}

extern "C" MRC_EXPORT int mrc_ctl_set_patience(mrc_context *mrc_ctx, uint32_t milliseconds)
{
    return minus_one_of([&]() -> result<void> {
        if (auto right = check_context(mrc_ctx); !right)
            return right;
        mrc_ctx->daemon->be_patient_for(std::chrono::milliseconds{milliseconds});
        return {};
    });
}

extern "C" MRC_EXPORT const char *mrc_failure_text(void)
{
    return last_failure.data();
}
