// SPDX-License-Identifier: Apache-2.0
// Names of peers: which texts are names, and the file beside its socket in which a daemon tells the programs of this
// host those of its peers, in the format of hosts(5): a line each, "ADDRESS NAME # how it is known".
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrc::session
{

inline constexpr std::size_t most_label_bytes = 63; // RFC 1035 section 2.3.4
inline constexpr std::size_t most_name_bytes = 253; // without the length bytes that packets add
inline constexpr const char *default_run_folder = "/run/mrc";

// Letters, digits and hyphens, none of these at an end; 1 to 63 bytes (RFC 1123 section 2.1).
[[nodiscard]] bool is_host_label(std::string_view text);
// Labels with dots between them, that no resolver takes for a number or for this host (localhost, RFC 6761 section
// 6.3).
[[nodiscard]] bool is_host_name(std::string_view text);
// As resolvers compare: whatever the case of ASCII letters.
[[nodiscard]] bool is_same_name(std::string_view a, std::string_view b);

struct named_host {
    std::string address; // MRC address, as text
    std::string name;
    std::string known_by; // "configuration", "file"

    bool operator==(const named_host &) const = default;
};

// Beside the daemon's socket: mrcd.hosts for mrcd.sock.
[[nodiscard]] std::filesystem::path names_file_of(const std::filesystem::path &socket);
[[nodiscard]] std::string to_hosts_text(std::span<const named_host> hosts);
// What is no such line is left out.
[[nodiscard]] std::vector<named_host> parse_hosts_text(std::string_view text);

// Peers of these instances, with commas between their names; empty: of all that run here. None where there is no file.
[[nodiscard]] std::vector<named_host> known_hosts(std::string_view instances,
                                                  const std::filesystem::path &run_folder = default_run_folder);
// The addresses of the peer of this name, each once: several where instances know different hosts by it.
[[nodiscard]] std::vector<std::string> addresses_of_name(std::string_view name, std::span<const named_host> hosts);

} // namespace mrc::session
