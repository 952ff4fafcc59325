// SPDX-License-Identifier: Apache-2.0
#include "unit/service/daemon_in_memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "codec/frame_codec.h"
#include "kernel/monotonic_clock.h"
#include "service/qp_failure.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::test
{

using namespace service;

namespace
{

constexpr std::uint32_t payload_bytes = 1024;
constexpr std::size_t ethernet_bytes = 14;

daemon_config config_of(unsigned leaf)
{
    const std::string text = "[daemon]\ninstance = \"in-memory\"\n[host]\nleaf = " + std::to_string(leaf) +
                             "\ndownlink = 0\n[fabric]\nusid_block = \"fcbb:bb00::/32\"\nplanes = 1\nleaves = 2\n"
                             "uplinks = 2\nhosts_per_leaf = 1\naddress_prefix = \"fd00:6d72:6300::/48\"\n"
                             "[[port]]\ndevice = \"lo\"\nplane = 0\ngateway = \"fe80::1\"\n"
                             "[limits]\nclients = 8\nqueue_pairs = 16\nmemory_regions = 64\ncompletion_queues = 16\n"
                             "completion_entries = 1024\ntotal_entries = 4096\nwork_requests = 256\n"
                             "total_requests = 2048\n";
    auto config = parse_config(text, "in-memory");
    if (!config)
        std::fprintf(stderr, "%s\n", config.error().text().c_str());
    demand(config.has_value(), "the configuration is refused");
    return *config;
}

protocol::qpn destination_of(const protocol::packet &content)
{
    return std::visit(
        [](const auto &packet) {
            if constexpr (requires { packet.destination; })
                return packet.destination;
            else
                return protocol::qpn{MRC_QPN_ENDPOINT};
        },
        content);
}

} // namespace

void demand(bool condition, const char *what)
{
    if (condition)
        return;
    std::fprintf(stderr, "daemon_in_memory: %s\n", what);
    std::abort();
}

void daemon_in_memory::wire::commit(const datapath::departure &packet)
{
    frames.push_back({packet.path, {room_.begin(), room_.begin() + packet.bytes}});
}

daemon_in_memory::daemon_in_memory(unsigned leaf)
    : config_{config_of(leaf)}, rules_{config_},
      tables_{.host = table_in_memory<mrc_host_row>(1),
              .ports = table_in_memory<mrc_port_row>(MRC_MAX_PORTS),
              .next_hops = table_in_memory<mrc_next_hop_row>(MRC_MAX_NEXT_HOPS),
              .paths = table_in_memory<mrc_path_row>(MRC_USUAL_PATHS),
              .signals = table_in_memory<mrc_signal_row>(MRC_USUAL_PATHS),
              .qps = table_in_memory<mrc_qp_row>(MRC_MAX_QPS),
              .overlay = table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS),
              .loops = {},
              .loop_arrivals = {},
              .fabric_faults = {},
              .events = table_in_memory<mrc_event_row>(std::size_t{MRC_EVENT_CLASSES} * MRC_EVENT_ROWS),
              .workers = {}},
      peers_{config_, rules_, tables_, rows_, workers_, states_, payload_bytes},
      control_{{.config = config_,
                .rules = rules_,
                .tables = tables_,
                .workers = with_worker(),
                .ports = ports_,
                .peers = peers_,
                .log = log_,
                .payload_bytes = payload_bytes,
                .notify_session = [](std::uint64_t, std::uint64_t) {},
                .notify_ports = [](protocol::plane_index, bool) {},
                .send_reply = [](std::uint64_t, std::span<const std::byte>) {},
                .settings_changed = [] {}}}
{
    workers_.ports(0).local.up.set(protocol::plane_index{0}, true);
}

// The controller asks for it when it is made.
worker_crew &daemon_in_memory::with_worker()
{
    workers_.add({.marks = {.source = {.common = address()}}, .turns = {}},
                 {.sockets = &sockets_,
                  .engines = std::vector<datapath::transmit_engine *>(MRC_MAX_PORTS, &wire_),
                  .paths = &tables_.paths,
                  .qps = &tables_.qps,
                  .overlay = &tables_.overlay,
                  .write_verdict = [](std::uint32_t, std::uint64_t) { return false; },
                  .on_peer_change = {},
                  .on_path_state = {},
                  .on_batch_done = [this] { control_.note_batch(); },
                  .on_qp_failed =
                      [this](const datapath::worker_qp &qp) { control_.note_failure(names_of(qp), failure_of(qp)); }});
    return workers_;
}

session_resources daemon_in_memory::resources()
{
    return {.config = config_,
            .rules = rules_,
            .tables = tables_,
            .clients = clients_,
            .log = log_,
            .workers = workers_,
            .ports = ports_,
            .peers = peers_,
            .control = control_,
            .adopted = adoptions_,
            .payload_bytes = payload_bytes};
}

std::size_t daemon_in_memory::qps_in_use() const
{
    std::size_t count = 0;
    for (std::size_t row = 0; row < tables_.qps.size(); ++row)
        count += tables_.qps[row].qpn != 0 ? 1 : 0;
    return count;
}

bool daemon_in_memory::deliver_to(daemon_in_memory &other)
{
    if (wire_.frames.empty())
        return false;
    while (!wire_.frames.empty()) {
        other.take(wire_.frames.front());
        wire_.frames.pop_front();
    }
    return true;
}

// What host_rx does: only packets for queue pairs that exist come in.
void daemon_in_memory::take(const wire::frame &frame)
{
    const auto parsed = codec::decode(frame.bytes, false);
    demand(parsed.has_value(), "a daemon sends what is no packet");
    mrc_rx_meta meta{};
    meta.magic = MRC_RX_META_MAGIC;
    meta.ev = parsed->entropy.value;
    meta.path = frame.path;
    meta.arrival_ns = static_cast<__u64>(kernel::monotonic_now().time_since_epoch().count());
    const std::uint32_t qpn = destination_of(parsed->content).value;
    meta.qp_row = qpn == MRC_QPN_ENDPOINT ? MRC_NO_QP : MRC_QPN_ROW(qpn);
    if (meta.qp_row != MRC_NO_QP && tables_.qps[meta.qp_row].qpn != qpn)
        return;
    frame_.assign(sizeof(meta) + ethernet_bytes, {});
    std::memcpy(frame_.data(), &meta, sizeof(meta));
    frame_.insert(frame_.end(), frame.bytes.begin(), frame.bytes.end());
    worker().on_frame(frame_.data(), static_cast<std::uint32_t>(frame_.size()), kernel::monotonic_now());
}

void run(daemon_in_memory &a, daemon_in_memory &b, unsigned rounds)
{
    for (bool moved = true; moved && rounds > 0; --rounds) {
        moved = a.worker().round() != 0;
        moved = b.worker().round() != 0 || moved;
        moved = a.deliver_to(b) || moved;
        moved = b.deliver_to(a) || moved;
    }
    a.take_notes();
    b.take_notes();
}

} // namespace mrc::test
