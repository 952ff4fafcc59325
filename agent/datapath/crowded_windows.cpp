// SPDX-License-Identifier: Apache-2.0
#include "datapath/crowded_windows.h"

namespace mrc::datapath
{

void crowded_windows::enter(worker_qp &qp)
{
    std::unique_ptr<window_crowd> &crowd = crowds_[qp.congestion];
    if (!crowd) {
        crowd = std::make_unique<window_crowd>();
        crowd->window = qp.congestion;
    }
    window_line &line = crowd->lines[qp.client];
    line.crowd = crowd.get();
    ++line.queue_pairs;
    qp.line = &line;
}

void crowded_windows::leave(worker_qp &qp)
{
    remove(qp);
    window_crowd &crowd = *qp.line->crowd;
    if (--qp.line->queue_pairs == 0)
        crowd.lines.erase(qp.client);
    if (crowd.lines.empty())
        crowds_.erase(crowd.window);
    qp.line = nullptr;
}

void crowded_windows::add(worker_qp &qp, const protocol::window_wish &wish)
{
    window_line &line = *qp.line;
    qp.wish = wish;
    if (!line.links.listed) {
        if (line.crowd->occupied.front() == nullptr)
            occupied_.push_back(*line.crowd);
        line.crowd->occupied.push_back(line);
    }
    line.members.push_back(qp);
}

void crowded_windows::remove(worker_qp &qp)
{
    if (!qp.before_window.listed)
        return;
    window_line &line = *qp.line;
    line.members.remove(qp);
    if (line.members.front() != nullptr)
        return;
    line.crowd->occupied.remove(line);
    if (line.crowd->occupied.front() == nullptr)
        occupied_.remove(*line.crowd);
}

} // namespace mrc::datapath
