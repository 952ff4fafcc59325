// SPDX-License-Identifier: Apache-2.0
// Queue pairs that have nothing to do, in the order in which they ran out of it. One that stays so for `rest_after`
// gives back what it borrowed (protocol/slab_pool.h). Not at once: a flow of small messages is idle between any two,
// and late answers still say something about paths and about what was sent for nothing.
#pragma once

#include "datapath/linked_list.h"
#include "datapath/worker_client.h"
#include "protocol/types.h"

namespace mrc::datapath
{

class resting_queue_pairs
{
public:
    static constexpr protocol::duration rest_after = std::chrono::milliseconds{10};

    void add(worker_qp &qp, protocol::instant now)
    {
        idle_.remove(qp);
        qp.idle_since = now;
        idle_.push_back(qp);
    }
    void remove(worker_qp &qp) { idle_.remove(qp); }
    // Costs nothing for those that are not due. One that has something to do again is let go.
    void give_back(protocol::instant now)
    {
        for (worker_qp *qp = idle_.front(); qp != nullptr && now - qp->idle_since >= rest_after; qp = idle_.front()) {
            idle_.remove(*qp);
            if (qp->active || qp->waiting.listed)
                continue;
            qp->protocol->rest();
            if (qp->posted)
                qp->posted->rest(qp->protocol->outstanding());
        }
    }

private:
    linked_list<worker_qp, &worker_qp::idle> idle_;
};

} // namespace mrc::datapath
