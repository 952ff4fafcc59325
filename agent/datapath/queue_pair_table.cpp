// SPDX-License-Identifier: Apache-2.0
#include "datapath/queue_pair_table.h"

#include <utility>

namespace mrc::datapath
{

queue_pair_table::queue_pair_table() : by_row_(MRC_MAX_QPS)
{
    qps_.reserve(MRC_MAX_QPS);
}

worker_qp &queue_pair_table::add(std::unique_ptr<worker_qp> qp)
{
    worker_qp &added = *qp;
    added.place = qps_.size();
    by_row_[MRC_QPN_ROW(added.number.value)] = &added;
    connected_.add(added);
    qps_.push_back(std::move(qp));
    return added;
}

std::unique_ptr<worker_qp> queue_pair_table::remove(protocol::qpn number)
{
    worker_qp *found = find(number);
    if (found == nullptr)
        return nullptr;
    by_row_[MRC_QPN_ROW(number.value)] = nullptr;
    connected_.remove(*found);
    std::swap(qps_[found->place], qps_.back());
    qps_[found->place]->place = found->place;
    std::unique_ptr<worker_qp> gone = std::move(qps_.back());
    qps_.pop_back();
    return gone;
}

} // namespace mrc::datapath
