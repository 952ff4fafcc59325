// SPDX-License-Identifier: Apache-2.0
// The two ways in which packets leave, both behind the interface of mrcd's engines: an AF_XDP ring for each port and
// nothing else, and live frames, which is mrcd's XDP transmit engine with its program.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "datapath/transmit_engine.h"
#include "datapath/xdp_transmit.h"
#include "kernel/mapped_array.h"
#include "kernel/tap_device.h"
#include "raw/packet.h"
#include "raw/path_rows.h"
#include "raw/ports.h"

struct bpf_map;
struct bpf_object;
struct bpf_program;

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

// What host_push needs beside the engine; or raw_push, whose packets have struct raw_source for payload and ICRC.
class live_transmit
{
public:
    // `burst`: frames between which receivers run. Throws kernel::startup_error.
    live_transmit(const std::vector<path> &paths, std::uint32_t burst, bool from_region);

    [[nodiscard]] datapath::transmit_engine &engine() { return *engine_; }
    // Where payload is to stand that leaves from the region.
    [[nodiscard]] std::span<std::byte> region() const
    {
        return std::as_writable_bytes(std::span{region_[0].bytes}.first(RAW_REGION_BYTES));
    }

private:
    [[nodiscard]] const bpf_map *map(const char *name) const;
    void attach();

    std::shared_ptr<void> owner_; // of the object, as a skeleton
    const bpf_object *object_ = nullptr;
    const bpf_program *program_ = nullptr;
    kernel::tap_device scratch_;
    kernel::unique_fd link_;
    path_rows rows_;
    kernel::mapped_array<raw_region> region_;
    std::unique_ptr<datapath::xdp_transmit> engine_;
};

} // namespace mrc::raw
