// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/failed_run.h"

namespace mrc::perf
{

namespace
{

perf_error cause_of(endpoint &local, const perf_error &noticed)
{
    try {
        local.check_daemon();
    } catch (const perf_error &its_end) {
        return its_end;
    }
    return noticed;
}

} // namespace

void note_failure(report_context &context, channel &far_end, endpoint &local, const perf_error &noticed)
{
    const perf_error cause = cause_of(local, noticed);
    context.status = cause.status();
    context.error = cause.what();
    if (cause.status() != "far_end")
        far_end.try_send(message_kind::error, {{"text", cause.what()}});
}

} // namespace mrc::perf
