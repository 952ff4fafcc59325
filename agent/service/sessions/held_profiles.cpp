// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/held_profiles.h"

#include <cerrno>

namespace mrc::service
{

// Nobody counts the users of the built-in profiles: they never go OFFLINE.
session::outcome<> hold_profiles(control_service &control, const session::qp_attributes &wanted)
{
    const bool takes_ev =
        (wanted.mask & session::qp_sets_ev_profile) != 0 && wanted.ev_profile != session::built_in_profile;
    const bool takes_cc =
        (wanted.mask & session::qp_sets_cc_profile) != 0 && wanted.cc_profile != session::built_in_profile;
    session::outcome<> held;
    if (takes_ev)
        held = control.ev_profiles().acquire(wanted.ev_profile);
    if (!held || !takes_cc)
        return held;
    held = control.cc_profiles().acquire(wanted.cc_profile);
    if (!held && takes_ev)
        control.ev_profiles().release(wanted.ev_profile);
    return held;
}

void release_profiles(control_service &control, const session::qp_attributes &of, std::uint32_t mask)
{
    if ((mask & session::qp_sets_ev_profile) != 0 && of.ev_profile != session::built_in_profile)
        control.ev_profiles().release(of.ev_profile);
    if ((mask & session::qp_sets_cc_profile) != 0 && of.cc_profile != session::built_in_profile)
        control.cc_profiles().release(of.cc_profile);
}

} // namespace mrc::service
