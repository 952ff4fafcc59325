// SPDX-License-Identifier: Apache-2.0
// Owners of what is made by mrc.h and verbs.
#pragma once

#include <memory>

#include <mrc.h>

#include "messaging/verbs_calls.h"

namespace mrc::messaging
{

template <auto Release>
struct freed_by {
    template <typename T>
    void operator()(T *what) const
    {
        (void)Release(what); // after the daemon's end there is nobody to complain to
    }
};

template <auto Member>
struct freed_by_verbs {
    template <typename T>
    void operator()(T *what) const
    {
        (void)(verbs().*Member)(what);
    }
};

using owned_device_list = std::unique_ptr<ibv_device *, freed_by_verbs<&verbs_calls::free_device_list>>;
using owned_verbs = std::unique_ptr<ibv_context, freed_by_verbs<&verbs_calls::close_device>>;
using owned_pd = std::unique_ptr<ibv_pd, freed_by_verbs<&verbs_calls::dealloc_pd>>;
using owned_region = std::unique_ptr<ibv_mr, freed_by_verbs<&verbs_calls::dereg_mr>>;
using owned_context = std::unique_ptr<mrc_context, freed_by<&::mrc_destroy_context>>;
using owned_channel = std::unique_ptr<mrc_comp_channel, freed_by<&::mrc_destroy_comp_channel>>;
using owned_cq = std::unique_ptr<mrc_cq, freed_by<&::mrc_destroy_cq>>;
using owned_qp = std::unique_ptr<mrc_qp, freed_by<&::mrc_destroy_qp>>;

} // namespace mrc::messaging
