// SPDX-License-Identifier: Apache-2.0
// The controller's requests about profiles: from numbers and masks to what the stores take, and back.
#pragma once

#include <cstddef>
#include <span>

#include "service/control/cc_profile_store.h"
#include "service/control/controller_answer.h"
#include "service/control/ev_format_store.h"
#include "service/control/ev_profile_store.h"
#include "session/control_protocol.h"

namespace mrc::service::control
{

class profile_requests
{
public:
    // Borrowed.
    profile_requests(ev_format_store &formats, ev_profile_store &evs, cc_profile_store &ccs)
        : formats_{formats}, evs_{evs}, ccs_{ccs}
    {
    }

    // `array` is what stands behind the request, as many elements as it says.
    [[nodiscard]] controller_answer modify_ev_format(const session::control_request &request,
                                                     std::span<const std::byte> array);
    [[nodiscard]] controller_answer query_ev_format(const session::control_request &request) const;
    [[nodiscard]] controller_answer modify_ev_profile(const session::control_request &request,
                                                      std::span<const std::byte> array);
    [[nodiscard]] controller_answer query_ev_profile(const session::control_request &request,
                                                     std::span<const std::byte> array) const;
    [[nodiscard]] controller_answer modify_cc_profile(const session::control_request &request);
    [[nodiscard]] controller_answer query_cc_profile(const session::control_request &request) const;
    [[nodiscard]] controller_answer list(const session::control_request &request) const;

private:
    [[nodiscard]] controller_answer query_widths(const session::control_request &request) const;
    [[nodiscard]] controller_answer query_evs(const session::control_request &request,
                                              std::span<const std::byte> array) const;
    [[nodiscard]] controller_answer query_fields(const session::control_request &request) const;

    ev_format_store &formats_;
    ev_profile_store &evs_;
    cc_profile_store &ccs_;
};

} // namespace mrc::service::control
