// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/session.h"

#include <algorithm>
#include <limits>

#include "codec/byte_order.h"
#include "messaging/failure.h"
#include "messaging/open_device.h"
#include "nccl_plugin/clear_to_send.h"

namespace mrc::nccl_plugin
{

namespace
{

// Messages tell of receives, of which there are 32; the slots are also how many WRITEs may be under way.
constexpr messaging::ring_shape messages{.slots = 64, .slot_bytes = 256};
static_assert(messages.slot_bytes >= clear_to_send::most_bytes);

int limited(std::uint64_t value)
{
    return static_cast<int>(std::min<std::uint64_t>(value, std::numeric_limits<int>::max()));
}

} // namespace

session::session() : endpoint{messages} {}

std::shared_ptr<session> live_session()
{
    static std::mutex mutex;
    static std::weak_ptr<session> current;
    const std::lock_guard held{mutex};
    std::shared_ptr<session> found = current.lock();
    if (!found || found->lost) {
        found = std::make_shared<session>();
        current = found;
    }
    return found;
}

std::shared_ptr<session> net_context::live()
{
    const std::lock_guard held{mutex_};
    if (held_->lost)
        held_ = live_session();
    return held_;
}

device_description describe_device()
{
    constexpr std::uint64_t speed_unit_mbps = 100;
    const messaging::opened_device device = messaging::open_device();
    ibv_device_attr attributes{};
    if (messaging::verbs().query_device(device.verbs.get(), &attributes) != 0)
        throw messaging::messaging_failure{"cannot use the device " + device.text + ": " + messaging::failure_reason()};
    std::uint64_t speed = 0;
    for (std::uint32_t port = 1; port <= attributes.phys_port_cnt; ++port) {
        std::uint64_t of_port = 0;
        if (messaging::verbs().query_port_speed(device.verbs.get(), port, &of_port) == 0)
            speed += of_port * speed_unit_mbps;
    }
    return {.name = device.text.substr(0, device.text.find(' ')),
            .gid = device.gid,
            .guid = codec::big_endian(attributes.node_guid),
            .speed_mbps = limited(std::max<std::uint64_t>(speed, 1)),
            .max_connections = attributes.max_qp};
}

} // namespace mrc::nccl_plugin
