// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM end what goes on for long in order: what was recorded is written. A second one ends it at once:
// whoever reads the file may have stopped.
#pragma once

namespace mrc::ctl
{

void end_by_signals();
[[nodiscard]] bool is_to_end();

} // namespace mrc::ctl
