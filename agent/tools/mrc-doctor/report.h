// SPDX-License-Identifier: Apache-2.0
// What mrc-doctor found on a host, the verdict that follows, and both as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "kernel/probes/attempt.h"

namespace mrc::doctor
{

enum class scope : std::uint8_t { host, scratch, port, peer }; // scratch: a veth pair of mrc-doctor's own
enum class state : std::uint8_t {
    works,
    slower,  // mrcd runs without it, at a price
    broken,  // mrcd does not run without it
    untried, // could not be tried, with the reason
};

struct finding {
    scope where = scope::host;
    std::string probe; // "xdp_native"
    std::string on;    // "host", "veth", a port's device; of programs and maps their name
    state result = state::untried;
    std::string found;  // the kernel's words, a figure
    std::string cost;   // of what is slower or broken, in plain words
    std::string remedy; // shell command; after a # alone: what to do by hand; empty: there is none
};

struct examined_port {
    std::string device;
    std::string driver; // empty: it does not tell
};

// How mrcd would use a port, as service/ports/port_modes.h chooses.
struct chosen_modes {
    std::string port;
    std::string xdp;      // native, generic
    std::string transmit; // xdp, af_xdp
    std::string af_xdp;   // copy, zero copy
    std::string buffers;  // one, several
    std::string reason;   // why not the usual transmit engine; empty: it is
};

struct report {
    std::string kernel; // release, as uname -r prints it
    std::string machine;
    std::vector<finding> findings;
    std::vector<examined_port> ports;
    std::vector<chosen_modes> modes;
};

enum class verdict : std::uint8_t { runs, runs_slower, does_not_run };

// How bad the lack of something is.
struct lack {
    state severity = state::broken;
    std::string cost;
    std::string remedy;
};
// A finding from an attempt: cost and command are kept when it was refused.
[[nodiscard]] finding judge(scope where, std::string probe, std::string on, const kernel::probes::attempt &result,
                            lack otherwise);

// Words in the place of a command, for an option of mrcd's configuration; empty `file`: of one yet to be written.
[[nodiscard]] std::string by_hand(std::string_view file, std::string_view table, std::string_view setting);

[[nodiscard]] verdict verdict_of(const report &of);
// 0: mrcd will run, perhaps slower; 1: it will not.
[[nodiscard]] int exit_status(verdict of);
// A table of findings, then each trouble with its cost and command.
[[nodiscard]] std::string findings_text(const std::vector<finding> &findings);
[[nodiscard]] boost::json::array findings_json(const std::vector<finding> &findings);
// Tables of findings and modes, then each trouble with its cost and command, then the verdict.
[[nodiscard]] std::string to_text(const report &of);
[[nodiscard]] boost::json::object to_json(const report &of);

} // namespace mrc::doctor
