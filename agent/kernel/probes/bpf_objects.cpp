// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/bpf_objects.h"

#include <cerrno>
#include <functional>
#include <map>
#include <memory>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "mrc/abi/maps.h" // the skeletons name its structs

#include "host_push.skel.h"
#include "host_rx.skel.h"
#include "host_tx.skel.h"

#include "kernel/probes/libbpf_warnings.h"
#include "kernel/unique_fd.h"

namespace mrc::kernel::probes
{

namespace
{

template <typename Skeleton>
using owner = std::unique_ptr<Skeleton, decltype(&Skeleton::destroy)>;

template <typename Skeleton>
owner<Skeleton> open()
{
    return {Skeleton::open(), &Skeleton::destroy};
}

// What constant zeros make unreachable the verifier skips.
owner<host_rx_bpf> open_receive()
{
    auto skeleton = open<host_rx_bpf>();
    if (!skeleton)
        return skeleton;
    auto &config = skeleton->rodata->config;
    config.port = 1;
    config.fabric = 1;
    config.address_count = MRC_RX_ADDRESSES;
    config.probes_per_second = 1;
    config.outer.bytes[0] = 0xfc;
    config.block_bytes = MRC_USID_USUAL_BLOCK;
    for (mrc_ip &address : config.addresses)
        address.bytes[0] = 0xfd;
    return skeleton;
}

attempt load(bpf_object *object)
{
    const libbpf_warnings warnings;
    const int result = bpf_object__load(object);
    return result == 0 ? worked() : refused(-result, libbpf_warnings::first());
}

template <typename Skeleton>
void load_into(std::vector<named_attempt> &list, const std::string &name, const owner<Skeleton> &skeleton)
{
    list.push_back({name, skeleton ? load(skeleton->obj) : refused(errno, "cannot open the object")});
}

attempt try_map(const bpf_map *map)
{
    LIBBPF_OPTS(bpf_map_create_opts, options);
    options.map_flags = bpf_map__map_flags(map);
    const unique_fd fd{
        bpf_map_create(bpf_map__type(map), "mrc_probe", bpf_map__key_size(map), bpf_map__value_size(map), 1, &options)};
    if (!fd)
        return refused(errno);
    if ((options.map_flags & BPF_F_MMAPABLE) == 0)
        return worked();
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void *address = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED)
        return refused(errno, "cannot map it into memory");
    const mapping mapped{address, page};
    return worked();
}

void try_maps_of(bpf_object *object, std::map<std::string, attempt> &by_type)
{
    bpf_map *map = nullptr;
    bpf_object__for_each_map(map, object)
    {
        if (bpf_map__is_internal(map))
            continue;
        const bool mapped = (bpf_map__map_flags(map) & BPF_F_MMAPABLE) != 0;
        const std::string name =
            std::string{libbpf_bpf_map_type_str(bpf_map__type(map))} + (mapped ? ", mmapable" : "");
        if (!by_type.contains(name))
            by_type.emplace(name, try_map(map));
    }
}

} // namespace

std::vector<named_attempt> try_map_types()
{
    std::map<std::string, attempt> by_type;
    if (const auto receive = open_receive())
        try_maps_of(receive->obj, by_type);
    if (const auto push = open<host_push_bpf>())
        try_maps_of(push->obj, by_type);
    if (const auto overlay = open<host_tx_bpf>())
        try_maps_of(overlay->obj, by_type);
    std::vector<named_attempt> list;
    list.reserve(by_type.size());
    for (const auto &[name, result] : by_type)
        list.push_back({name, result});
    return list;
}

std::vector<named_attempt> try_programs()
{
    std::vector<named_attempt> list;
    load_into(list, "host_rx (xdp)", open_receive());
    load_into(list, "host_push (xdp)", open<host_push_bpf>());
    load_into(list, "host_tx (tc)", open<host_tx_bpf>());
    return list;
}

attempt try_multi_buffer_program()
{
    const auto receive = open_receive();
    if (!receive)
        return refused(errno, "cannot open the object");
    bpf_program__set_flags(receive->progs.host_rx, BPF_F_XDP_HAS_FRAGS);
    return load(receive->obj);
}

} // namespace mrc::kernel::probes
