// SPDX-License-Identifier: Apache-2.0
// What mrc-collectives was asked for: by the command line, and what launchers of ranks have put into the environment.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrc::collectives
{

enum class collective : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
};

[[nodiscard]] const char *name_of(collective one); // as --operations has it
inline constexpr collective all_collectives[] = {collective::all_reduce, collective::all_gather,
                                                 collective::reduce_scatter, collective::all_to_all,
                                                 collective::broadcast};

enum class transport_kind : std::uint8_t {
    mrc,
    tcp, // Gloo's own
};

struct collectives_options {
    std::vector<collective> operations;
    std::vector<std::uint64_t> sizes; // bytes
    std::uint32_t iterations = 0;     // of each; 0: by the size
    transport_kind transport = transport_kind::mrc;
    std::string interface; // of Gloo's TCP
    std::string address;   // instead
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;
    std::string master_host; // where rank 0 listens for all to tell each other their addresses
    std::uint16_t master_port = 0;
    std::chrono::seconds timeout{30};
    bool json = false;

    // That many results of one size are taken, and verified.
    [[nodiscard]] std::uint32_t iterations_of(std::uint64_t bytes) const;
};

inline constexpr std::uint64_t largest_size = std::uint64_t{1} << 30;
inline constexpr std::uint32_t most_ranks = 256;
inline constexpr std::uint32_t most_iterations = 1'000'000;

// The options, or the exit status of a command line that ends here (--help, --version, an error that was printed).
struct parsed_line {
    collectives_options chosen;
    std::optional<int> exit_status;
};
[[nodiscard]] parsed_line parse_command_line(int argc, char **argv);

} // namespace mrc::collectives
