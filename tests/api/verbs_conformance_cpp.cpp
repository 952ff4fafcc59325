// SPDX-License-Identifier: Apache-2.0
// The same program in C++, where verbs.h and mrc.h mean other things in places.
// NOLINTBEGIN(bugprone-suspicious-include)
#include "verbs_conformance.c"
#include "verbs_devices.c"
#include "verbs_ends.c"
#include "verbs_memory.c"
#include "verbs_ports.c"
// NOLINTEND(bugprone-suspicious-include)
