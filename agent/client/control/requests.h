// SPDX-License-Identifier: Apache-2.0
// What the functions of mrc_ctl.h share: requests of session/control_protocol.h, one packet each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "client/api/objects.h"
#include "client/boundary.h"
#include "session/control_protocol.h"

namespace mrc::client
{

// The bits that the daemon knows; what vendor_cfg holds means nothing to it.
template <typename Mask>
[[nodiscard]] constexpr std::uint32_t without_vendor(Mask mask)
{
    constexpr std::uint32_t vendor_bit = 1U << 31;
    return static_cast<std::uint32_t>(mask) & ~vendor_bit;
}

struct control_answer {
    mrc::session::control_reply reply; // its error may be set
    std::vector<std::byte> array;

    // Element `index` of the array, which has `reply.count`.
    template <typename Element>
    [[nodiscard]] Element element(std::size_t index) const
    {
        static_assert(std::is_trivially_copyable_v<Element>);
        Element one;
        std::memcpy(static_cast<void *>(&one), array.data() + index * sizeof(Element), sizeof(Element));
        return one;
    }
};

[[nodiscard]] mrc::session::control_request control_request_of(mrc::session::control_kind kind, std::uint64_t id,
                                                               std::uint32_t mask);

// An error only when there is no reply, or not one of elements of that size.
[[nodiscard]] result<control_answer> ask(daemon_session &daemon, const mrc::session::control_request &request,
                                         std::span<const std::byte> array = {}, std::size_t reply_element = 0);
[[nodiscard]] result<control_answer> ask(const control_line &line, const mrc::session::control_request &request,
                                         std::span<const std::byte> array, std::size_t reply_element);

// The reply's error as the call's.
[[nodiscard]] result<void> outcome_of(const control_answer &answer);

// EINVAL without a context, EPERM in a forked child.
[[nodiscard]] result<void> check_context(const mrc_context *context);

// A queue of EV events goes: the daemon forgets its subscription.
void end_subscription(const mrc_cq &cq);

} // namespace mrc::client
