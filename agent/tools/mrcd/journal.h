// SPDX-License-Identifier: Apache-2.0
// The log in systemd's journal: each line with its priority, and those of events with their fields (sd-journal(3)).
#pragma once

#include <string>

namespace mrc::journal
{

// Where standard error is the journal (JOURNAL_STREAM, systemd.exec(5)), lines go there by its own protocol from now
// on. Else nothing changes. `instance`: the daemon's, which each event names.
void log_there(const std::string &instance);

} // namespace mrc::journal
