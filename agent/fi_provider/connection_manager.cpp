// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/connection_manager.h"

#include <algorithm>

namespace mrc::fi_provider
{

connection_manager::connection_manager() : thread_{[this](const std::stop_token &stop) { run(stop); }} {}

connection_manager::~connection_manager()
{
    thread_.request_stop();
    wake_.set();
}

void connection_manager::add(managed &what)
{
    all_.push_back(&what);
    wake_.set();
}

void connection_manager::remove(managed &what)
{
    std::erase(all_, &what);
}

void connection_manager::run(const std::stop_token &stop)
{
    std::vector<pollfd> descriptors;
    while (!stop.stop_requested()) {
        managed::clock::time_point due = managed::clock::time_point::max();
        descriptors.assign(1, {.fd = wake_.fd(), .events = POLLIN, .revents = 0});
        {
            const auto held = lock();
            for (managed *one : all_)
                one->wants(descriptors, due);
        }
        int limit_ms = -1;
        if (due != managed::clock::time_point::max())
            limit_ms = static_cast<int>(
                std::chrono::ceil<std::chrono::milliseconds>(std::max(due - managed::clock::now(), {})).count());
        (void)::poll(descriptors.data(), descriptors.size(), limit_ms);
        wake_.clear();
        const auto held = lock();
        for (managed *one : all_)
            one->proceed(managed::clock::now());
    }
}

} // namespace mrc::fi_provider
