// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/fabric_plan/switches.h"

#include <utility>

#include <fmt/format.h>

namespace mrc::ctl
{

namespace
{

constexpr std::uint32_t leaf_tier = 0;
constexpr std::uint32_t spine_tier = 1;

std::string numbered(std::string pattern, std::uint32_t number)
{
    if (const auto at = pattern.find("{}"); at != std::string::npos)
        pattern.replace(at, 2, std::to_string(number));
    return pattern;
}

class plan_reader
{
public:
    plan_reader(const service::daemon_config &config, const link_names &names)
        : fabric_{config.fabric}, plan_{config.fabric.usids}, names_{names}
    {
    }

    [[nodiscard]] fabric_switch leaf(std::uint8_t number, std::uint32_t index) const
    {
        const protocol::plane_index plane{number};
        fabric_switch node = make(plane, leaf_tier, index, plan_.leaf(plane, index));
        for (std::uint32_t spine = 0; spine < fabric_.uplinks; spine++)
            node.routes.push_back(route(name_of(plane, spine_tier, spine), plan_.spine(plane, spine),
                                        numbered(names_.uplink, spine), names_.upper));
        for (std::uint32_t downlink = 0; downlink < fabric_.hosts_per_leaf; downlink++)
            node.routes.push_back(route(fmt::format("downlink {}", downlink), plan_.host(plane, downlink),
                                        numbered(names_.downlink, downlink), names_.lower));
        return node;
    }

    [[nodiscard]] fabric_switch spine(std::uint8_t number, std::uint32_t index) const
    {
        const protocol::plane_index plane{number};
        fabric_switch node = make(plane, spine_tier, index, plan_.spine(plane, index));
        for (std::uint32_t leaf = 0; leaf < fabric_.leaves; leaf++)
            node.routes.push_back(route(name_of(plane, leaf_tier, leaf), plan_.leaf(plane, leaf),
                                        numbered(names_.downlink, leaf), names_.lower));
        return node;
    }

private:
    [[nodiscard]] static std::string name_of(protocol::plane_index plane, std::uint32_t tier, std::uint32_t number)
    {
        return fmt::format("p{}t{}-{}", plane.value, tier, number);
    }
    [[nodiscard]] std::string prefix_of(std::uint16_t usid) const
    {
        return fmt::format("{}/{}", service::to_text(plan_.carrier({usid})),
                           8 * (plan_.block_bytes() + MRC_USID_BYTES));
    }
    [[nodiscard]] switch_route route(std::string toward, std::uint16_t usid, std::string device,
                                     const std::string &via) const
    {
        return {.toward = std::move(toward), .prefix = prefix_of(usid), .device = std::move(device), .via = via};
    }
    [[nodiscard]] fabric_switch make(protocol::plane_index plane, std::uint32_t tier, std::uint32_t number,
                                     std::uint16_t usid) const
    {
        return {.name = name_of(plane, tier, number),
                .plane = plane.value,
                .tier = tier,
                .number = number,
                .usid = usid,
                .address = service::to_text(plan_.carrier({usid})),
                .prefix = prefix_of(usid),
                .routes = {}};
    }

    const service::fabric_options &fabric_;
    service::usid_plan plan_;
    const link_names &names_;
};

} // namespace

std::vector<fabric_switch> switches_of(const service::daemon_config &config, const link_names &names)
{
    const plan_reader plan{config, names};
    std::vector<fabric_switch> switches;
    for (std::uint8_t plane = 0; plane < config.fabric.planes; plane++) {
        for (std::uint32_t leaf = 0; leaf < config.fabric.leaves; leaf++)
            switches.push_back(plan.leaf(plane, leaf));
        for (std::uint32_t spine = 0; spine < config.fabric.uplinks; spine++)
            switches.push_back(plan.spine(plane, spine));
    }
    return switches;
}

} // namespace mrc::ctl
