// SPDX-License-Identifier: Apache-2.0
#include "datapath/packet_output.h"

#include <algorithm>
#include <utility>

#include "codec/frame_codec.h"

namespace mrc::datapath
{

packet_output::packet_output(const packet_marks &marks, std::vector<transmit_engine *> engines,
                             const kernel::mapped_array<mrc_path_row> &paths)
    : marks_{marks}, engines_{std::move(engines)}, paths_{paths}
{
    for (transmit_engine *engine : engines_)
        if (engine != nullptr && std::ranges::find(distinct_engines_, engine) == distinct_engines_.end())
            distinct_engines_.push_back(engine);
}

bool packet_output::ready()
{
    return std::ranges::all_of(distinct_engines_, [](transmit_engine *engine) { return engine->ready(); });
}

void packet_output::flush()
{
    for (transmit_engine *engine : distinct_engines_)
        engine->flush();
}

bool packet_output::unsent() const
{
    return std::ranges::any_of(distinct_engines_, [](const auto *engine) { return engine->queued() != 0; });
}

bool packet_output::send(const mrc_ip &to, std::uint16_t host_usid, const protocol::outgoing &packet,
                         const worker_qp *qp)
{
    const mrc_path_row &path = paths_[packet.path.value];
    transmit_engine *engine = path.port < engines_.size() ? engines_[path.port] : nullptr;
    if (engine == nullptr)
        return true;
    const std::span<std::byte> out = engine->reserve(packet.path.value);
    const codec::ip_endpoints ends = endpoints_on(path, marks_.source, to);
    const bool ipv4 = codec::is_ipv4_mapped(ends.destination);
    const std::uint8_t dscp = packet.dscp_as_is ? packet.dscp : marks_.code_points[packet.dscp & 63U];
    if (packet.payload.bytes != 0) {
        const auto payload = out.subspan(codec::payload_offset(packet.content, ipv4), packet.payload.bytes);
        if (qp == nullptr || !payloads_.read(*qp, packet, payload))
            return false;
    }
    const auto size = codec::encode(
        packet.content,
        {.ip = ends, .udp_port = marks_.udp_port, .dscp = dscp, .ecn = packet.ecn, .entropy = packet.entropy}, out);
    if (!size)
        return false;
    engine->commit({.path = packet.path.value,
                    .host_usid = host_usid,
                    .flow_label = packet.entropy.value & 0xFFFFFu,
                    .tclass = MRC_TCLASS(dscp, packet.ecn),
                    .next_header = ipv4 ? codec::protocol_ipv4 : codec::protocol_ipv6,
                    .bytes = static_cast<std::uint16_t>(*size)});
    return true;
}

} // namespace mrc::datapath
