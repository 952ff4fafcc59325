// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/group.h"

#include <chrono>
#include <string>

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include "gloo_adapter/create_device.h"
#include "tools/mrc-collectives/tcp_store.h"

namespace mrc::collectives
{

namespace
{

std::shared_ptr<gloo::transport::Device> device_of(const collectives_options &chosen)
{
    if (chosen.transport == transport_kind::mrc)
        return gloo_adapter::create_device();
    gloo::transport::tcp::attr where;
    where.iface = chosen.interface;
    where.hostname = chosen.address;
    return gloo::transport::tcp::CreateDevice(where);
}

// All have to be there before Gloo waits for them, whose own words name no rank.
void meet(tcp_store &store, const collectives_options &chosen)
{
    store.set(fmt::format("rank {}", chosen.rank), {'1'});
    for (std::uint32_t rank = 0; rank < chosen.ranks; ++rank)
        static_cast<void>(store.get(fmt::format("rank {}", rank)));
}

template <typename T>
void all_reduce(const std::shared_ptr<gloo::Context> &context, std::span<T> numbers,
                void (*reduce)(void *, const void *, const void *, std::size_t))
{
    gloo::AllreduceOptions wish{context};
    wish.setOutput(numbers.data(), numbers.size());
    wish.setReduceFunction(reduce);
    gloo::allreduce(wish);
}

} // namespace

group::group(const collectives_options &chosen)
{
    auto device = device_of(chosen); // before anybody waits for a rank that has none
    if (chosen.rank == 0)
        server_.emplace(chosen.master_host, chosen.master_port);
    tcp_store store{chosen.master_host, chosen.master_port, chosen.timeout};
    meet(store, chosen);
    const auto connecting =
        std::make_shared<gloo::rendezvous::Context>(static_cast<int>(chosen.rank), static_cast<int>(chosen.ranks));
    connecting->setTimeout(chosen.timeout);
    connecting->connectFullMesh(store, device);
    context_ = connecting;
}

void group::barrier() const
{
    gloo::BarrierOptions wish{context_};
    gloo::barrier(wish);
}

void group::greatest(std::span<double> numbers) const
{
    all_reduce(context_, numbers, &gloo::max<double>);
}

std::uint64_t group::sum(std::uint64_t number) const
{
    all_reduce(context_, std::span{&number, 1}, &gloo::sum<std::uint64_t>);
    return number;
}

} // namespace mrc::collectives
