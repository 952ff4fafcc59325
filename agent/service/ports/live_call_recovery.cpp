// SPDX-License-Identifier: Apache-2.0
#include "service/ports/live_call_recovery.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "kernel/monotonic_clock.h"

namespace mrc::service
{

namespace
{

// Who has to give up again so soon waits as long as before, and longer.
constexpr std::chrono::seconds calm{10};

double milliseconds(protocol::duration time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

} // namespace

live_call_recovery::live_call_recovery(boost::asio::io_context &context, surroundings around, recovery_pace pace)
    : around_{std::move(around)}, pace_{pace}, bell_{context, ::fcntl(around_.bell_fd, F_DUPFD_CLOEXEC, 0)},
      timer_{context}, lines_{pace_.between_lines, 1}
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
    since_ = kernel::monotonic_now();
    in_a_row_ = waits_ = 0;
    if (since_ - back_since_ > calm)
        delay_ = {};
    said_ = lines_.take(since_);
    if (!said_) {
        ++unsaid_;
    } else {
        around_.write(
            log_level::warning,
            fmt::format("XDP transmit has to wait for the kernel's XDP dispatcher, {:.1f} ms in its last call: XDP "
                        "programs are attached and detached on this machine, or there were more of them than its 48 "
                        "places. Everything leaves by AF_XDP until this has passed{}",
                        milliseconds(around_.slowest()),
                        unsaid_ == 0 ? "" : fmt::format(" ({} times more since the last such line)", unsaid_)));
        unsaid_ = 0;
    }
    if (!around_.attach_again())
        around_.write(log_level::error, "host_push cannot be attached again");
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
    if (said_)
        around_.write(log_level::info, fmt::format("XDP transmit is in use again after {:.1f} s",
                                                   milliseconds(back_since_ - since_) / 1000));
}

} // namespace mrc::service
