// SPDX-License-Identifier: Apache-2.0
#include "service/ports/live_call_recovery.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>

#include "kernel/monotonic_clock.h"

namespace mrc::service
{

namespace
{

// Who has to give up again so soon waits as long as before, and longer.
constexpr std::chrono::seconds calm{10};

} // namespace

live_call_recovery::live_call_recovery(boost::asio::io_context &context, surroundings around, dispatcher_lines &lines,
                                       recovery_pace pace)
    : around_{std::move(around)}, lines_{lines}, pace_{pace},
      bell_{context, ::fcntl(around_.bell_fd, F_DUPFD_CLOEXEC, 0)}, timer_{context}
{
    await_bell();
}

void live_call_recovery::await_bell()
{
    bell_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code &error) {
        if (error)
            return;
        around_.acknowledge();
        begin();
        await_bell();
    });
}

void live_call_recovery::begin()
{
    const protocol::instant now = kernel::monotonic_now();
    in_a_row_ = waits_ = 0;
    if (now - back_since_ > calm)
        delay_ = {};
    lines_.on_given_up(now, around_.slowest());
    if (!around_.attach_again())
        lines_.on_failed_attach();
    try_after(std::max(delay_, pace_.between_tries));
}

void live_call_recovery::try_after(std::chrono::milliseconds delay)
{
    timer_.expires_after(delay);
    timer_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            try_again();
    });
}

void live_call_recovery::try_again()
{
    if (!around_.try_one())
        on_wait();
    else if (++in_a_row_ >= pace_.tries)
        end();
    else
        try_after(pace_.between_tries);
}

void live_call_recovery::on_wait()
{
    in_a_row_ = 0;
    delay_ = std::clamp(2 * delay_, pace_.after_wait, pace_.longest_wait);
    if (++waits_ % pace_.waits_per_attach == 0)
        (void)around_.attach_again();
    try_after(delay_);
}

void live_call_recovery::end()
{
    back_since_ = kernel::monotonic_now();
    around_.give_back();
    lines_.on_given_back(back_since_);
}

} // namespace mrc::service
