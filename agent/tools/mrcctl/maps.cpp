// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/maps.h"

#include <cerrno>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

std::string hint(int error)
{
    if (error == EPERM || error == EACCES)
        return " (this needs root, or CAP_BPF and access to this file)";
    return error == ENOENT ? " (this mrcd is just starting or ending, or of another version)" : "";
}

} // namespace

kernel::unique_fd open_map(const instance &of, map_shape &shape)
{
    const std::string path = (of.pins / shape.name).string();
    LIBBPF_OPTS(bpf_obj_get_opts, options);
    // The kernel maps no descriptor that was opened for reading only, not even for reading.
    options.file_flags = shape.mapped ? 0 : BPF_F_RDONLY;
    kernel::unique_fd map{bpf_obj_get_opts(path.c_str(), &options)};
    if (!map) {
        const int error = errno;
        throw ctl_error{fmt::format("cannot open map '{}': {}{}", path, std::strerror(error), hint(error))};
    }
    bpf_map_info info{};
    __u32 size = sizeof(info);
    if (bpf_obj_get_info_by_fd(map.get(), &info, &size) != 0)
        throw ctl_error{fmt::format("'{}' is no map: {}", path, std::strerror(errno))};
    const bool configured = shape.rows == 0;
    if (configured)
        shape.rows = info.max_entries;
    if (info.key_size != shape.key_size || info.value_size != shape.row_size || info.max_entries != shape.rows)
        throw ctl_error{fmt::format("map '{}' has {} rows of {} bytes, this tool knows {} of {}: mrcd and its tools "
                                    "are of different versions",
                                    path, info.max_entries, info.value_size, shape.rows, shape.row_size)};
    return map;
}

kernel::mapping map_rows(const kernel::unique_fd &map, const map_shape &shape)
{
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t bytes = (std::size_t{shape.rows} * shape.row_size + page - 1) / page * page;
    void *address =
        ::mmap(nullptr, bytes, shape.written ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, map.get(), 0);
    if (address == MAP_FAILED)
        throw ctl_error{fmt::format("cannot map '{}': {}", shape.name, std::strerror(errno))};
    return {address, bytes};
}

std::size_t read_rows(const kernel::unique_fd &map, const map_shape &shape, void *keys, void *rows)
{
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    __u32 next = 0;
    __u32 count = shape.rows;
    if (bpf_map_lookup_batch(map.get(), nullptr, &next, keys, rows, &count, &options) != 0 && errno != ENOENT)
        throw ctl_error{fmt::format("cannot read map '{}': {}", shape.name, std::strerror(errno))};
    return count; // ENOENT: these were all
}

namespace
{

kernel::unique_fd open_table(const instance &of, map_shape shape)
{
    return open_map(of, shape);
}

} // namespace

host_maps::host_maps(instance of)
    : of_{std::move(of)}, host_{of_, "host", 1}, ports_{of_, "ports", MRC_MAX_PORTS},
      next_hops_{of_, "next_hops", MRC_MAX_NEXT_HOPS}, paths_{of_, "paths", 0}, signals_{of_, "signals", 0},
      qps_{of_, "qps", MRC_MAX_QPS}, workers_{of_, "workers", MRC_MAX_WORKERS},
      verdicts_{open_table(
          of_, {.name = "verdicts", .key_size = sizeof(__u32), .row_size = sizeof(__u64), .rows = MRC_VERDICT_COUNT})},
      peers_{
          open_table(of_, {.name = "peers", .key_size = sizeof(mrc_ip), .row_size = sizeof(mrc_peer_row), .rows = 0})}
{
}

verdict_counts host_maps::verdicts() const
{
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0)
        throw ctl_error{"the number of CPUs is unknown (is /sys mounted?)"};
    verdict_counts counts(MRC_VERDICT_COUNT);
    std::vector<std::uint64_t> per_cpu(static_cast<std::size_t>(cpus));
    for (__u32 row = 0; row < MRC_VERDICT_COUNT; ++row) {
        if (bpf_map_lookup_elem(verdicts_.get(), &row, per_cpu.data()) != 0)
            throw ctl_error{fmt::format("cannot read map 'verdicts': {}", std::strerror(errno))};
        for (const std::uint64_t value : per_cpu)
            counts[row] += value;
    }
    return counts;
}

client_table host_maps::clients() const
{
    const auto rows = read_hash<std::uint32_t, mrc_client_row>(of_, "clients", MRC_MAX_CLIENTS);
    return {rows.begin(), rows.end()};
}

std::optional<mrc_peer_row> host_maps::peer(const mrc_ip &address) const
{
    mrc_peer_row row{};
    if (bpf_map_lookup_elem(peers_.get(), &address, &row) != 0)
        return std::nullopt;
    return row;
}

} // namespace mrc::ctl
