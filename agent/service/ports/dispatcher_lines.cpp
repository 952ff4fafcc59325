// SPDX-License-Identifier: Apache-2.0
#include "service/ports/dispatcher_lines.h"

#include <fmt/format.h>

namespace mrc::service
{

namespace
{

double milliseconds(protocol::duration time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

} // namespace

void dispatcher_lines::on_given_up(protocol::instant now, protocol::duration slowest)
{
    if (without_++ != 0)
        return;
    since_ = now;
    said_ = lines_.take(now);
    if (!said_) {
        ++unsaid_;
        return;
    }
    write_(log_level::warning,
           fmt::format("XDP transmit has to wait for the kernel's XDP dispatcher, {:.1f} ms in its last call: XDP "
                       "programs are attached and detached on this machine, or there were more of them than its 48 "
                       "places. Everything leaves by AF_XDP until this has passed{}",
                       milliseconds(slowest),
                       unsaid_ == 0 ? "" : fmt::format(" ({} times more since the last such line)", unsaid_)));
    unsaid_ = 0;
}

void dispatcher_lines::on_given_back(protocol::instant now)
{
    if (--without_ == 0 && said_)
        write_(log_level::info,
               fmt::format("XDP transmit is in use again after {:.1f} s", milliseconds(now - since_) / 1000));
}

void dispatcher_lines::on_failed_attach()
{
    write_(log_level::error, "host_push cannot be attached again");
}

} // namespace mrc::service
