// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/link_report.h"

#include <algorithm>
#include <utility>

namespace mrc::service
{

namespace
{

constexpr std::uint32_t magic = 0x4D524346; // "MRCF"
constexpr std::uint32_t version = 1;
constexpr std::uint32_t no_spine = MRC_LOOP_NO_SPINE;

class report_writer
{
public:
    void put(std::uint32_t value, unsigned bytes)
    {
        while (bytes-- > 0)
            bytes_.push_back(static_cast<std::byte>(value >> (8 * bytes)));
    }
    [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

// Past the end, what it takes is 0, and it has failed.
class report_reader
{
public:
    explicit report_reader(std::span<const std::byte> bytes) : rest_{bytes} {}
    [[nodiscard]] std::uint32_t take(unsigned bytes)
    {
        if (rest_.size() < bytes) {
            has_failed_ = true;
            rest_ = {};
            return 0;
        }
        std::uint32_t value = 0;
        for (const std::byte each : rest_.first(bytes))
            value = value << 8 | std::to_integer<std::uint32_t>(each);
        rest_ = rest_.subspan(bytes);
        return value;
    }
    void require(bool condition) { has_failed_ = has_failed_ || !condition; }
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

private:
    std::span<const std::byte> rest_;
    bool has_failed_ = false;
};

void put_plane(report_writer &to, std::uint32_t number, const reported_plane &plane)
{
    to.put(number, 1);
    to.put(plane.leaf, 1);
    to.put(plane.spines, 2);
    for (std::size_t first = 0; first < max_uplinks; first += 8) {
        std::uint32_t bits = 0;
        for (std::size_t bit = 0; bit < 8; ++bit)
            bits |= plane.good[first + bit] ? 1U << bit : 0U;
        to.put(bits, 1);
    }
}

void put_fault(report_writer &to, const reported_fault &fault)
{
    to.put(fault.plane.value, 1);
    to.put(fault.state, 1);
    to.put(fault.direction, 1);
    to.put(0, 1);
    to.put(fault.spine.value_or(no_spine), 2);
    to.put(0, 2);
    to.put(fault.loops, 4);
    to.put(fault.lost, 4);
    to.put(fault.extra_rtt_ns, 4);
}

// Planes come in order, each once.
void take_plane(report_reader &from, link_report &to, int &last)
{
    const std::uint32_t number = from.take(1);
    const std::uint32_t leaf = from.take(1);
    const std::uint32_t spines = from.take(2);
    from.require(number < MRC_MAX_PORTS);
    from.require(last < static_cast<int>(number));
    from.require(leaf <= MRC_LINK_DEAD && spines <= max_uplinks);
    reported_plane plane{.leaf = static_cast<mrc_link_state>(leaf), .spines = spines, .good = {}};
    for (std::size_t first = 0; first < max_uplinks; first += 8) {
        const std::uint32_t bits = from.take(1);
        for (std::size_t bit = 0; bit < 8; ++bit)
            plane.good[first + bit] = (bits >> bit & 1) != 0;
    }
    if (from.has_failed())
        return;
    last = static_cast<int>(number);
    to.planes[number] = plane;
}

// A plane's way to the leaf, then its spines: a host names each once.
bool is_before(const reported_fault &one, const reported_fault &other)
{
    return std::pair{one.plane, one.spine} < std::pair{other.plane, other.spine};
}

bool is_called_good(const reported_plane &plane, const reported_fault &fault)
{
    return fault.spine ? plane.good[*fault.spine] : plane.leaf == MRC_LINK_GOOD;
}

void take_fault(report_reader &from, link_report &to)
{
    const std::uint32_t plane = from.take(1);
    const std::uint32_t state = from.take(1);
    const std::uint32_t direction = from.take(1);
    from.require(from.take(1) == 0);
    const std::uint32_t spine = from.take(2);
    from.require(from.take(2) == 0);
    reported_fault fault{.plane = protocol::plane_index{static_cast<std::uint8_t>(plane)},
                         .spine = spine == no_spine ? std::nullopt : std::optional{spine},
                         .state = static_cast<mrc_link_state>(state),
                         .direction = static_cast<mrc_link_direction>(direction),
                         .loops = from.take(4),
                         .lost = from.take(4),
                         .extra_rtt_ns = from.take(4)};
    from.require(plane < MRC_MAX_PORTS && state > MRC_LINK_GOOD && state <= MRC_LINK_DEAD &&
                 direction <= MRC_DIRECTION_BOTH && (spine == no_spine || spine < max_uplinks) &&
                 fault.lost <= fault.loops);
    if (from.has_failed())
        return;
    from.require(to.faults.empty() || is_before(to.faults.back(), fault));
    const std::optional<reported_plane> &reported = to.planes[plane];
    from.require(reported && !is_called_good(*reported, fault));
    to.faults.push_back(fault);
}

} // namespace

void keep_since(link_report &report, const link_report &before, protocol::instant now)
{
    for (reported_fault &fault : report.faults) {
        const auto old = std::ranges::find_if(before.faults, [&](const reported_fault &each) {
            return each.plane == fault.plane && each.spine == fault.spine;
        });
        fault.since = old == before.faults.end() ? now : old->since;
    }
}

std::vector<std::byte> encode(const link_report &report)
{
    const std::size_t faults = std::min(report.faults.size(), most_reported_faults);
    report_writer to;
    to.put(magic, 4);
    to.put(version, 1);
    to.put(static_cast<std::uint32_t>(
               std::ranges::count_if(report.planes, [](const auto &plane) { return plane.has_value(); })),
           1);
    to.put(static_cast<std::uint32_t>(faults), 2);
    to.put(report.run, 4);
    to.put(report.number, 4);
    for (std::uint32_t number = 0; number < MRC_MAX_PORTS; ++number)
        if (const auto &plane = report.planes[number])
            put_plane(to, number, *plane);
    for (std::size_t i = 0; i < faults; ++i)
        put_fault(to, report.faults[i]);
    return to.take();
}

std::optional<link_report> decode_link_report(std::span<const std::byte> datagram)
{
    report_reader from{datagram};
    from.require(from.take(4) == magic);
    from.require(from.take(1) == version);
    const std::uint32_t planes = from.take(1);
    const std::uint32_t faults = from.take(2);
    from.require(planes <= MRC_MAX_PORTS && faults <= most_reported_faults);
    link_report report{.run = from.take(4), .number = from.take(4), .planes = {}, .faults = {}};
    int last = -1;
    for (std::uint32_t i = 0; i < planes && !from.has_failed(); ++i)
        take_plane(from, report, last);
    for (std::uint32_t i = 0; i < faults && !from.has_failed(); ++i)
        take_fault(from, report);
    if (from.has_failed() || !from.is_at_end())
        return std::nullopt;
    return report;
}

} // namespace mrc::service
