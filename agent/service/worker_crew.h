// SPDX-License-Identifier: Apache-2.0
// The host's workers ([worker] workers). A session has one of them, whose its queue pairs, regions and completions are.
// Each knows its peers and the paths to them by itself, as several hosts behind one address would: path_groups.h and
// peer_directory.h have what is each one's. The first speaks for the host: it answers peers, tells them of this host's
// ports and hears of theirs, serves the overlay and controllers' batches.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "datapath/worker.h"
#include "mrc/abi/maps.h"
#include "protocol/request_ids.h"
#include "service/linked_planes.h"

namespace mrc::service
{

// The host's ports as one worker sees them: read by its path groups, changed on its thread only.
struct worker_ports {
    explicit worker_ports(std::size_t listed_hosts) : linked{listed_hosts} {}

    protocol::local_ports local{};
    linked_planes linked;
};

class worker_crew
{
public:
    // So many workers, of hosts that a direct fabric lists; add() makes them. Their ports outlive them.
    worker_crew(unsigned size, std::size_t listed_hosts)
    {
        for (unsigned number = 0; number < size; ++number)
            ports_.push_back(std::make_unique<worker_ports>(listed_hosts));
    }
    worker_crew(const worker_crew &) = delete;
    worker_crew &operator=(const worker_crew &) = delete;

    void add(datapath::worker_options options, datapath::worker::resources borrowed)
    {
        workers_.push_back(std::make_unique<datapath::worker>(std::move(options), std::move(borrowed)));
    }
    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(ports_.size()); }
    [[nodiscard]] datapath::worker &operator[](unsigned number) const { return *workers_[number]; }
    [[nodiscard]] datapath::worker &first() const { return *workers_.front(); }
    [[nodiscard]] worker_ports &ports(unsigned number) const { return *ports_[number]; }
    [[nodiscard]] protocol::asker asker(unsigned number) const { return {.number = number, .of = size()}; }

    void start() const // throws startup_error
    {
        for (const auto &worker : workers_)
            worker->start();
    }
    void clear() { workers_.clear(); } // after stop()
    void stop() const
    {
        for (const auto &worker : workers_)
            worker->stop();
    }

    // Calls task(number, worker) on each worker's thread, one after the other.
    template <typename Task>
    void call_each(const Task &task) const
    {
        for (unsigned number = 0; number < workers_.size(); ++number)
            workers_[number]->call([&] { task(number, *workers_[number]); });
    }
    // Runs the task while none of them does anything.
    void call_at_rest(const std::function<void()> &task) const { rest_and_run(0, task); }

    // A session's place with the worker that has the fewest of them.
    class seat
    {
    public:
        seat() = default; // with the first, which does not count it
        explicit seat(worker_crew &crew) : crew_{&crew}, number_{crew.emptiest()} { ++crew.seated_[number_]; }
        seat(seat &&other) noexcept : crew_{std::exchange(other.crew_, nullptr)}, number_{other.number_} {}
        seat &operator=(seat &&other) noexcept
        {
            std::swap(crew_, other.crew_);
            std::swap(number_, other.number_);
            return *this;
        }
        ~seat()
        {
            if (crew_ != nullptr)
                --crew_->seated_[number_];
        }
        [[nodiscard]] unsigned number() const { return number_; }

    private:
        worker_crew *crew_ = nullptr;
        unsigned number_ = 0;
    };

private:
    // Of several the last: the first has the host's own business besides.
    [[nodiscard]] unsigned emptiest() const
    {
        unsigned found = size() - 1;
        for (unsigned number = size() - 1; number-- != 0;)
            found = seated_[number] < seated_[found] ? number : found;
        return found;
    }
    // Each call is made by the worker that rests already.
    void rest_and_run(std::size_t next, const std::function<void()> &task) const
    {
        if (next == workers_.size())
            task();
        else
            workers_[next]->call([&] { rest_and_run(next + 1, task); });
    }

    std::vector<std::unique_ptr<worker_ports>> ports_;
    std::vector<std::unique_ptr<datapath::worker>> workers_;
    std::array<std::size_t, MRC_MAX_WORKERS> seated_{};
};

} // namespace mrc::service
