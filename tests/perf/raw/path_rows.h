// SPDX-License-Identifier: Apache-2.0
// Rows of `ports`, `next_hops` and `paths` for BPF programs that put a path's headers in front of packets: of each path
// one, of the same number.
#pragma once

#include <cstdint>

#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"
#include "raw/packet.h"

struct bpf_map;

namespace mrc::raw
{

class path_rows
{
public:
    path_rows() = default;
    // Of a program that is loaded; the maps need not outlive this. Throws kernel::startup_error.
    path_rows(const bpf_map *ports, const bpf_map *next_hops, const bpf_map *paths);

    void describe(const path &to, std::uint32_t row);

private:
    kernel::mapped_array<mrc_port_row> ports_;
    kernel::mapped_array<mrc_next_hop_row> next_hops_;
    kernel::mapped_array<mrc_path_row> paths_;
};

} // namespace mrc::raw
