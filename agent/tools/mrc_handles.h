// SPDX-License-Identifier: Apache-2.0
// Owners of what a program makes with verbs and mrc.h.
#pragma once

#include <memory>

#include <infiniband/verbs.h>

#include <mrc.h>

namespace mrc
{

template <auto Release>
struct released_by {
    template <typename T>
    void operator()(T *what) const
    {
        (void)Release(what); // after the daemon's end there is nobody to complain to
    }
};

using device_list_handle = std::unique_ptr<ibv_device *, released_by<&::ibv_free_device_list>>;
using verbs_handle = std::unique_ptr<ibv_context, released_by<&::ibv_close_device>>;
using pd_handle = std::unique_ptr<ibv_pd, released_by<&::ibv_dealloc_pd>>;
using context_handle = std::unique_ptr<mrc_context, released_by<&::mrc_destroy_context>>;
using channel_handle = std::unique_ptr<mrc_comp_channel, released_by<&::mrc_destroy_comp_channel>>;
using cq_handle = std::unique_ptr<mrc_cq, released_by<&::mrc_destroy_cq>>;
using qp_handle = std::unique_ptr<mrc_qp, released_by<&::mrc_destroy_qp>>;

} // namespace mrc
