// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/ev_events.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include "tools/mrcctl/error.h"
#include "tools/mrcctl/ev_profiles.h"

namespace mrc::ctl
{

namespace
{

using clock = std::chrono::steady_clock;

channel_handle make_channel(const controller_device &device)
{
    mrc_comp_channel *channel = nullptr;
    if (::mrc_create_comp_channel(device.mrc(), &channel) != 0)
        fail_call("listen to EV events");
    return channel_handle{channel};
}

int descriptor_of(mrc_comp_channel *channel)
{
    int descriptor = -1;
    if (::mrc_get_comp_channel_fd(channel, &descriptor) != 0)
        fail_call("listen to EV events");
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    return descriptor;
}

void print_event(const mrc_ctl_ev_event &event, bool json)
{
    const std::string state = name_of(ev_state_names, event.state);
    if (json) {
        const boost::json::object view{{"profile", event.profile_id},
                                       {"ev", boost::json::string{ev_text(event.ev)}},
                                       {"port", event.ev.port},
                                       {"state", boost::json::string{state}},
                                       {"dropped", event.drop_count}};
        fmt::print("{}\n", boost::json::serialize(view));
        return;
    }
    const std::string lost = event.drop_count != 0 ? fmt::format("  after {} dropped", event.drop_count) : "";
    fmt::print("profile {}  {}  {}{}\n", event.profile_id, ev_text(event.ev), state, lost);
}

void drain(mrc_cq *queue, bool json)
{
    std::array<mrc_ctl_ev_event, 64> events{};
    int got = 0;
    while ((got = ::mrc_ctl_poll_ev_event(queue, static_cast<int>(events.size()), events.data())) > 0)
        for (const mrc_ctl_ev_event &event : std::span{events}.first(static_cast<std::size_t>(got)))
            print_event(event, json);
    if (got < 0)
        throw ctl_error{fmt::format("cannot read EV events: {}", why_it_failed(-got))};
    std::fflush(stdout); // whoever reads a pipe wants them now
}

void take_notices(mrc_comp_channel *channel)
{
    mrc_cq *queue = nullptr;
    void *user = nullptr;
    while (::mrc_get_cq_event(channel, &queue, &user) == 0)
        ::mrc_ack_cq_events(queue, 1);
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        fail_call("wait for EV events");
}

// Without one nobody hears anything, whatever happens.
bool anything_is_reported(const controller_device &device)
{
    return std::ranges::any_of(ev_profiles_of(device), [](const boost::json::value &profile) {
        return !profile.at("events").as_array().empty();
    });
}

int time_left_ms(const event_options &options, clock::time_point begin)
{
    if (!options.seconds)
        return -1;
    const std::chrono::duration<double, std::milli> left =
        begin + std::chrono::duration<double>{*options.seconds} - clock::now();
    return std::max(0, static_cast<int>(left.count()) + 1);
}

} // namespace

void print_events(const controller_device &device, const event_options &options)
{
    const clock::time_point begin = clock::now();
    const channel_handle channel = make_channel(device);
    const cq_handle queue{::mrc_ctl_create_ev_event_cq(device.mrc(), options.room, nullptr, channel.get(), 0)};
    if (!queue)
        fail_call("listen to EV events");
    if (!options.json && !anything_is_reported(device))
        fmt::print(stderr, "mrcctl: no EV profile reports any state; `mrcctl ev-profile set ID --events "
                           "good,assumed_bad` makes it do so\n");
    if (!options.seconds)
        fmt::print(stderr, "mrcctl: waits for EV events; Ctrl-C ends it\n");
    pollfd waiting{.fd = descriptor_of(channel.get()), .events = POLLIN, .revents = 0};
    for (bool more = true; more;) {
        // Armed before it is read: what comes in between rings.
        if (::mrc_req_notify_cq(queue.get(), 0) != 0)
            fail_call("wait for EV events");
        drain(queue.get(), options.json);
        const int ready = ::poll(&waiting, 1, time_left_ms(options, begin));
        more = ready > 0;
        if (ready < 0 && errno != EINTR)
            throw ctl_error{fmt::format("cannot wait for EV events: {}", std::strerror(errno))};
        if (more)
            take_notices(channel.get());
    }
}

} // namespace mrc::ctl
