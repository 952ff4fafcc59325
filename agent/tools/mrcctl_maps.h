// SPDX-License-Identifier: Apache-2.0
// The pinned maps of one mrcd, read-only. Nothing here speaks to the daemon or waits for it.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "datapath/unique_fd.h"
#include "mrc/maps.h"
#include "tools/mrcctl_instance.h"

namespace mrc::ctl
{

// What a pinned map must look like for its rows to mean what mrc/maps.h says.
struct map_shape {
    const char *name;
    std::uint32_t key_size;
    std::uint32_t row_size;
    std::uint32_t rows;
    bool mapped = false; // by map_rows; else read by system calls
};

// Throws ctl_error when it is not there, not readable, or of another version.
[[nodiscard]] datapath::unique_fd open_map(const instance &of, const map_shape &shape);
[[nodiscard]] datapath::mapping map_rows(const datapath::unique_fd &map, const map_shape &shape);

// A mapped array: reading a row is no system call, and copies it, for the daemon goes on writing.
template <typename Row>
class pinned_array
{
public:
    pinned_array(const instance &of, const char *name, std::uint32_t rows) : rows_{rows}
    {
        const map_shape shape{
            .name = name, .key_size = sizeof(__u32), .row_size = sizeof(Row), .rows = rows, .mapped = true};
        memory_ = map_rows(open_map(of, shape), shape);
    }

    [[nodiscard]] Row operator[](std::uint32_t row) const
    {
        Row copy;
        std::memcpy(&copy, static_cast<const Row *>(memory_.get()) + row, sizeof(copy));
        return copy;
    }
    [[nodiscard]] std::uint32_t size() const { return rows_; }

private:
    std::uint32_t rows_;
    datapath::mapping memory_;
};

using verdict_counts = std::vector<std::uint64_t>; // by enum mrc_verdict, summed over all CPUs

class host_maps
{
public:
    explicit host_maps(instance of);

    [[nodiscard]] const instance &of() const { return of_; }
    [[nodiscard]] mrc_host host() const { return host_[0]; }
    [[nodiscard]] const pinned_array<mrc_port> &ports() const { return ports_; }
    [[nodiscard]] const pinned_array<mrc_path> &paths() const { return paths_; }
    [[nodiscard]] const pinned_array<mrc_signal> &signals() const { return signals_; }
    [[nodiscard]] const pinned_array<mrc_qp> &qps() const { return qps_; }
    [[nodiscard]] verdict_counts verdicts() const;
    // By an MRC address of the peer, common or of a plane.
    [[nodiscard]] std::optional<mrc_peer> peer(const mrc_ip &address) const;

private:
    instance of_;
    pinned_array<mrc_host> host_;
    pinned_array<mrc_port> ports_;
    pinned_array<mrc_path> paths_;
    pinned_array<mrc_signal> signals_;
    pinned_array<mrc_qp> qps_;
    datapath::unique_fd verdicts_;
    datapath::unique_fd peers_;
};

} // namespace mrc::ctl
