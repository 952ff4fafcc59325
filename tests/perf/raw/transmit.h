// SPDX-License-Identifier: Apache-2.0
// The two ways in which packets leave, both behind the interface of mrcd's engines: an AF_XDP ring for each port and
// nothing else, and live frames, which is mrcd's XDP transmit engine with its program.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "datapath/transmit_engine.h"
#include "datapath/xdp_transmit.h"
#include "kernel/mapped_array.h"
#include "kernel/tap_device.h"
#include "raw/packet.h"
#include "raw/ports.h"

struct host_push_bpf;

namespace mrc::raw
{

// `departure::path` is the path's place in the list, which has its uSIDs, too; what else a departure says is not used.
class ring_transmit final : public datapath::transmit_engine
{
public:
    // Path i leaves by port i. `way` is borrowed.
    ring_transmit(ports &way, const std::vector<path> &paths);

    [[nodiscard]] std::string_view name() const override { return "af_xdp"; }
    [[nodiscard]] bool ready() override;
    [[nodiscard]] std::span<std::byte> reserve(std::uint32_t path) override;
    void commit(const datapath::departure &packet) override;
    void flush() override;
    [[nodiscard]] std::size_t queued() const override;
    [[nodiscard]] datapath::transmit_counters counters() const override { return counters_; }

private:
    ports &ports_;
    std::vector<std::array<std::byte, codec::outer_header_bytes>> outers_; // by path
    kernel::frame current_;
    datapath::transmit_counters counters_;
};

// What host_push needs beside the engine.
class live_transmit
{
public:
    // `burst`: frames between which receivers run. Throws kernel::startup_error.
    live_transmit(const std::vector<path> &paths, std::uint32_t burst);

    [[nodiscard]] datapath::transmit_engine &engine() { return *engine_; }

private:
    struct unload {
        void operator()(host_push_bpf *program) const;
    };

    void attach();
    void describe(const path &to, std::uint32_t row);

    std::unique_ptr<host_push_bpf, unload> program_;
    kernel::tap_device scratch_;
    kernel::unique_fd link_;
    kernel::mapped_array<mrc_port_row> ports_;
    kernel::mapped_array<mrc_next_hop_row> next_hops_;
    kernel::mapped_array<mrc_path_row> paths_;
    std::unique_ptr<datapath::xdp_transmit> engine_;
};

} // namespace mrc::raw
