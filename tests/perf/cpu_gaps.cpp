// SPDX-License-Identifier: Apache-2.0
// When a thread that spins loses its CPU, and for how long: reads the clock for so many seconds, and prints the gaps
// between two readings as [host] of mrc-sim's scenarios has them (docs/mrc-sim.1); nothing where it never lost its CPU.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace
{

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr clock_type::duration shortest = 20us; // below, a worker's own work looks the same
constexpr int most_seconds = 3600;
constexpr std::array shares{0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0};

std::vector<clock_type::duration> gaps_during(clock_type::duration whole)
{
    std::vector<clock_type::duration> gaps;
    gaps.reserve(1 << 20);
    const clock_type::time_point end = clock_type::now() + whole;
    for (clock_type::time_point before = clock_type::now(); before < end;) {
        const clock_type::time_point now = clock_type::now();
        if (now - before >= shortest)
            gaps.push_back(now - before);
        before = now;
    }
    return gaps;
}

} // namespace

int main(int count, char **arguments)
{
    const std::string_view text = count == 2 ? arguments[1] : "";
    int seconds = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (read.ptr != text.data() + text.size() || seconds < 1 || seconds > most_seconds) {
        std::cerr << fmt::format("usage: mrc-cpu-gaps SECONDS\nSECONDS: found \"{}\", allowed is 1 to {}\n", text,
                                 most_seconds);
        return 2;
    }
    auto gaps = gaps_during(std::chrono::seconds{seconds});
    if (gaps.empty())
        return 0;
    std::ranges::sort(gaps);
    const auto lost = std::accumulate(gaps.begin(), gaps.end(), clock_type::duration{0});
    const std::chrono::microseconds interval = std::chrono::round<std::chrono::microseconds>(
        (std::chrono::seconds{seconds} - lost) / static_cast<std::int64_t>(gaps.size()));
    std::cout << fmt::format("# {} gaps of 20 us or more in {} s, {:.1f} % of the time\nstall_every = \"{}us\"\n",
                             gaps.size(), seconds, 100 * std::chrono::duration<double>{lost}.count() / seconds,
                             interval.count());
    std::string stalls;
    for (const double share : shares) {
        const auto at = static_cast<std::size_t>(share * static_cast<double>(gaps.size() - 1));
        stalls += fmt::format("{}[{}, \"{}us\"]", stalls.empty() ? "" : ", ", share,
                              std::chrono::round<std::chrono::microseconds>(gaps[at]).count());
    }
    std::cout << fmt::format("stalls = [{}]\n", stalls);
}
