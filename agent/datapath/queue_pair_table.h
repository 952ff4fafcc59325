// SPDX-License-Identifier: Apache-2.0
// The worker's queue pairs, by number and by what they are connected to. All in constant time, whatever their number.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "datapath/connections.h"
#include "datapath/worker_client.h"
#include "mrc/abi/maps.h"
#include "protocol/types.h"

namespace mrc::datapath
{

class queue_pair_table
{
public:
    queue_pair_table();

    // Its row, by number, is free.
    worker_qp &add(std::unique_ptr<worker_qp> qp);
    [[nodiscard]] std::unique_ptr<worker_qp> remove(protocol::qpn number); // null when there is none
    [[nodiscard]] worker_qp *find(protocol::qpn number) const
    {
        worker_qp *qp = by_row_[MRC_QPN_ROW(number.value)];
        return qp != nullptr && qp->number == number ? qp : nullptr;
    }
    // In no order.
    [[nodiscard]] std::span<const std::unique_ptr<worker_qp>> all() const { return qps_; }

    [[nodiscard]] connections &connected() { return connected_; }

private:
    std::vector<std::unique_ptr<worker_qp>> qps_; // each knows its place
    std::vector<worker_qp *> by_row_;
    connections connected_;
};

} // namespace mrc::datapath
