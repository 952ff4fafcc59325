// SPDX-License-Identifier: Apache-2.0
// The pinned maps of one mrcd, read-only. Nothing here speaks to the daemon or waits for it.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"
#include "tools/mrcctl/instance.h"

namespace mrc::ctl
{

// What a pinned map must look like for its rows to mean what mrc/abi/maps.h says.
struct map_shape {
    const char *name;
    std::uint32_t key_size;
    std::uint32_t row_size;
    std::uint32_t rows;   // 0: as many as the daemon was configured for
    bool mapped = false;  // by map_rows; else read by system calls
    bool written = false; // the mapping can be written
};

// Throws ctl_error when it is not there, not readable, or of another version. Sets the rows that it has.
[[nodiscard]] kernel::unique_fd open_map(const instance &of, map_shape &shape);
[[nodiscard]] kernel::mapping map_rows(const kernel::unique_fd &map, const map_shape &shape);
// Of a hash: how many rows it has, their keys and values written one after another to what has room for `shape.rows`.
// Throws ctl_error.
[[nodiscard]] std::size_t read_rows(const kernel::unique_fd &map, const map_shape &shape, void *keys, void *rows);

// A hash, read in one call: what comes or goes meanwhile is there or not, and no row is there twice. Throws ctl_error.
template <typename Key, typename Row>
std::vector<std::pair<Key, Row>> read_hash(const instance &of, const char *name, std::uint32_t most_rows)
{
    map_shape shape{.name = name, .key_size = sizeof(Key), .row_size = sizeof(Row), .rows = most_rows};
    const kernel::unique_fd map = open_map(of, shape);
    std::vector<Key> keys(shape.rows);
    std::vector<Row> rows(shape.rows);
    std::vector<std::pair<Key, Row>> all(read_rows(map, shape, keys.data(), rows.data()));
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = {keys[i], rows[i]};
    return all;
}

// A mapped array: reading a row is no system call, and copies it, for the daemon goes on writing.
template <typename Row>
class pinned_array
{
public:
    pinned_array(const instance &of, const char *name, std::uint32_t rows)
    {
        map_shape shape{.name = name, .key_size = sizeof(__u32), .row_size = sizeof(Row), .rows = rows, .mapped = true};
        const kernel::unique_fd map = open_map(of, shape);
        memory_ = map_rows(map, shape);
        rows_ = shape.rows;
    }

    [[nodiscard]] Row operator[](std::uint32_t row) const
    {
        Row copy;
        std::memcpy(&copy, static_cast<const Row *>(memory_.get()) + row, sizeof(copy));
        return copy;
    }
    // For rows that tell by themselves whether they were read whole.
    [[nodiscard]] const Row &in_place(std::uint32_t row) const { return static_cast<const Row *>(memory_.get())[row]; }
    [[nodiscard]] std::uint32_t size() const { return rows_; }

private:
    std::uint32_t rows_ = 0;
    kernel::mapping memory_;
};

using client_table = std::map<std::uint32_t, mrc_client_row>; // by session

using verdict_counts = std::vector<std::uint64_t>; // by enum mrc_verdict, summed over all CPUs

class host_maps
{
public:
    explicit host_maps(instance of);

    [[nodiscard]] const instance &of() const { return of_; }
    [[nodiscard]] mrc_host_row host() const { return host_[0]; }
    [[nodiscard]] const pinned_array<mrc_port_row> &ports() const { return ports_; }
    [[nodiscard]] const pinned_array<mrc_next_hop_row> &next_hops() const { return next_hops_; }
    [[nodiscard]] const pinned_array<mrc_path_row> &paths() const { return paths_; }
    [[nodiscard]] const pinned_array<mrc_signal_row> &signals() const { return signals_; }
    [[nodiscard]] const pinned_array<mrc_qp_row> &qps() const { return qps_; }
    [[nodiscard]] const pinned_array<mrc_worker_row> &workers() const { return workers_; }
    [[nodiscard]] verdict_counts verdicts() const;
    [[nodiscard]] client_table clients() const;
    // By an MRC address of the peer, common or of a plane.
    [[nodiscard]] std::optional<mrc_peer_row> peer(const mrc_ip &address) const;

private:
    instance of_;
    pinned_array<mrc_host_row> host_;
    pinned_array<mrc_port_row> ports_;
    pinned_array<mrc_next_hop_row> next_hops_;
    pinned_array<mrc_path_row> paths_;
    pinned_array<mrc_signal_row> signals_;
    pinned_array<mrc_qp_row> qps_;
    pinned_array<mrc_worker_row> workers_;
    kernel::unique_fd verdicts_;
    kernel::unique_fd peers_;
};

} // namespace mrc::ctl
