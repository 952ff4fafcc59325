// SPDX-License-Identifier: Apache-2.0
#include "datapath/turn_scheduler.h"

#include <utility>

namespace mrc::datapath
{

void turn_scheduler::activate(worker_qp &qp)
{
    if (qp.active)
        return;
    worker_client &client = *qp.client;
    qp.active = true;
    qp.active_place = client.active.size();
    client.active.push_back(&qp);
    if (!client.listed) {
        client.listed = true;
        client.listed_place = clients_.size();
        clients_.push_back(&client);
    }
}

void turn_scheduler::deactivate(worker_qp &qp)
{
    if (!qp.active)
        return;
    worker_client &client = *qp.client;
    remove(client, qp.active_place);
    if (client.active.empty())
        remove_client(client.listed_place);
}

// The last one takes its place, and the turn that it is about to have.
void turn_scheduler::remove(worker_client &client, std::size_t place)
{
    client.active[place]->active = false;
    client.active[place] = client.active.back();
    client.active[place]->active_place = place;
    client.active.pop_back();
}

// The same.
void turn_scheduler::remove_client(std::size_t place)
{
    clients_[place]->listed = false;
    clients_[place] = clients_.back();
    clients_[place]->listed_place = place;
    clients_.pop_back();
}

// A turn that was interrupted is over when arrivals have used up the rest of its allowance.
void turn_scheduler::resume()
{
    const worker_client *client = std::exchange(interrupted_, nullptr);
    if (client != nullptr && turn_ < clients_.size() && clients_[turn_] == client && client->allowance <= 0)
        ++turn_;
}

// One at least while there is any allowance: as with packets, the last may cost more than is left.
std::size_t turn_scheduler::entries_for(const worker_qp &qp) const
{
    const std::int64_t allowance = std::min(qp.allowance, qp.client->allowance);
    if (allowance <= 0 || tally_.entries >= limits_.entries)
        return 0;
    const auto affordable = static_cast<std::size_t>((allowance + entry_cost - 1) / entry_cost);
    return std::min(affordable, limits_.entries - tally_.entries);
}

void turn_scheduler::pay(worker_qp &qp, std::int64_t cost)
{
    qp.allowance -= cost;
    qp.client->allowance -= cost;
    tally_.spent += cost;
}

void turn_scheduler::pay_entries(worker_qp &qp, std::size_t count)
{
    tally_.entries += count;
    pay(qp, static_cast<std::int64_t>(count) * entry_cost);
}

} // namespace mrc::datapath
