// SPDX-License-Identifier: Apache-2.0
// Everything that is shown, made of one look at all hosts four times a second, however many pages ask for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/mrc-view/host_watch.h"
#include "tools/mrc-view/lab/description.h"
#include "tools/mrc-view/numbered_ring.h"

namespace mrc::view
{

inline constexpr std::chrono::milliseconds look_period{250};
inline constexpr std::size_t most_points = 1200; // of the time lines: five minutes
inline constexpr std::size_t most_events = 2000;

class view_model
{
public:
    // One host, by the name of its instance.
    explicit view_model(const std::string &instance);
    explicit view_model(lab_description lab);

    // Looks at all hosts.
    void look();

    // What there is to say about the lab changes by itself, too. Its hosts stay those that they were.
    void set_lab(lab_description lab);
    // Why the lab cannot be described any more; empty: it can.
    void set_lab_problem(std::string problem) { lab_problem_ = std::move(problem); }
    // Null: one host is shown. It stays where it is when set_lab() changes it.
    [[nodiscard]] const lab_description *lab() const { return lab_ ? &*lab_ : nullptr; }

    // One line for each host that cannot be looked at as it should.
    [[nodiscard]] std::vector<std::string> problems() const;

    // JSON texts. The snapshot is of the last look.
    [[nodiscard]] const std::string &snapshot() const { return snapshot_; }
    [[nodiscard]] std::string history(std::uint64_t after_point, std::uint64_t after_event) const;
    // nullopt: there is no such link.
    [[nodiscard]] std::optional<std::string> link(const link_key &key) const;

private:
    [[nodiscard]] std::vector<host_look> looks() const;
    [[nodiscard]] boost::json::array hosts_view() const;
    void add_point();
    void add_events();
    void make_snapshot();

    std::optional<lab_description> lab_{};
    std::string lab_problem_{};
    std::vector<host_watch> hosts_{};
    std::uint64_t number_ = 0; // of looks
    link_table links_{};
    numbered_ring points_{most_points};
    numbered_ring events_{most_events};
    std::string snapshot_{};
};

} // namespace mrc::view
