// SPDX-License-Identifier: Apache-2.0
// A client of the worker with real queue pairs on rings in memory, and what they are connected to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/mman.h>

#include "datapath/region_table.h"
#include "datapath/transmit_engine.h"
#include "datapath/worker_client.h"
#include "protocol/congestion/fixed_window.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/paths/port_status.h"

namespace mrc::test
{

[[nodiscard]] inline kernel::mapping shared_memory(std::size_t bytes)
{
    return {::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), bytes};
}

[[nodiscard]] inline protocol::path_group_config paths_of(unsigned planes)
{
    protocol::path_group_config config;
    config.planes = planes;
    config.base = protocol::path_index{1};
    return config;
}

// A peer, and all that is kept of it.
struct remote_host {
    explicit remote_host(std::uint8_t number, unsigned planes = 1) : group{paths_of(planes), local}
    {
        address.bytes[15] = number;
    }
    [[nodiscard]] datapath::worker_peer peer()
    {
        return {.address = address,
                .paths = &group,
                .ports = &ports,
                .planes = &suspected,
                .proofs = &proofs,
                .congestion = &window};
    }

    mrc_ip address{{0xfd, 2}};
    protocol::local_ports local{protocol::plane_mask{0xff}};
    protocol::path_group group;
    protocol::port_status ports{{}, group};
    protocol::peer_planes suspected{{}, group};
    protocol::sack_proofs proofs{group.size()};
    protocol::fixed_window window{1 << 30};
};

// Where no memory is registered.
[[nodiscard]] inline datapath::region_table &no_regions()
{
    static datapath::region_table table;
    return table;
}

// Takes whatever is written.
struct any_memory final : protocol::memory_sink {
    std::expected<void, protocol::write_refusal> write(std::uint32_t, std::uint64_t,
                                                       std::span<const std::byte> payload) override
    {
        bytes += payload.size();
        return {};
    }

    std::uint64_t bytes = 0;
};

// Takes every packet.
struct counting_engine final : datapath::transmit_engine {
    [[nodiscard]] std::string_view name() const override { return "counting"; }
    [[nodiscard]] bool ready() override { return room != 0; }
    [[nodiscard]] std::span<std::byte> reserve(std::uint32_t) override { return bytes; }
    void commit(const datapath::departure &packet) override
    {
        sent.push_back(packet);
        --room;
        if (on_commit)
            on_commit(packet, std::span{bytes}.first(packet.bytes));
    }
    void flush() override { ++flushes; }
    [[nodiscard]] std::size_t queued() const override { return waiting; }
    [[nodiscard]] datapath::transmit_counters counters() const override { return {}; }

    std::size_t room = SIZE_MAX;
    std::size_t waiting = 0; // it says
    std::size_t flushes = 0;
    std::vector<datapath::departure> sent;
    std::function<void(const datapath::departure &, std::span<const std::byte>)> on_commit;
    std::array<std::byte, 8192> bytes{};
};

[[nodiscard]] inline std::unique_ptr<datapath::worker_client> client_in_memory(std::uint32_t number)
{
    auto made = std::make_unique<datapath::worker_client>();
    made->number = number;
    made->bell_memory = shared_memory(sizeof(session::bell_page));
    made->doorbell = kernel::unique_fd{::eventfd(0, EFD_CLOEXEC)};
    made->by_bell.resize(session::bell_page::queue_pairs);
    return made;
}

// The client's end of one queue pair: its rings, all of one depth, and a completion queue that never overruns.
class rings_in_memory
{
public:
    explicit rings_in_memory(std::uint32_t depth)
        : layout_{.send_capacity = depth, .receive_capacity = depth, .most_inline = 64},
          memory_{shared_memory(layout_.bytes())}, sends_{layout_.sends(memory_.get())},
          receives_{layout_.receives(memory_.get())}
    {
        const session::completion_layout completions{.capacity = 4 * depth};
        kernel::mapping both = shared_memory(completions.bytes());
        done_ = completions.completions(both.get());
        completions_ =
            std::make_unique<datapath::completion_ring>(0, std::move(both), completions.capacity, nullptr, nullptr);
    }

    // The worker's end, connected to queue pair `number` of the host. With a pool it is made as mrcd makes it.
    [[nodiscard]] std::unique_ptr<datapath::worker_qp> connect(datapath::worker_client &client, std::uint32_t number,
                                                               remote_host &to, protocol::slab_pool *pool = nullptr,
                                                               datapath::region_table &regions = no_regions())
    {
        return connect(client, number, number, to.peer(), pool, nullptr, regions);
    }
    [[nodiscard]] std::unique_ptr<datapath::worker_qp>
    connect(datapath::worker_client &client, std::uint32_t number, std::uint32_t peer_number,
            const datapath::worker_peer &to, protocol::slab_pool *pool = nullptr,
            protocol::memory_sink *target = nullptr, datapath::region_table &regions = no_regions())
    {
        auto qp = std::make_unique<datapath::worker_qp>();
        qp->number = protocol::qpn{number};
        qp->client = &client;
        qp->bell = number % session::bell_page::queue_pairs;
        qp->peer_number = protocol::qpn{peer_number};
        qp->peer = to;
        qp->address = to.address;
        qp->sources.fill(to.address);
        qp->congestion = to.congestion;
        protocol::qp_config config;
        config.local = qp->number;
        config.peer = qp->peer_number;
        config.send_queue_depth = layout_.send_capacity;
        config.receive_queue_depth = layout_.receive_capacity;
        qp->memory = std::make_unique<datapath::region_view>(regions, datapath::protection_domain{}, true, qp->number);
        qp->protocol = std::make_unique<protocol::queue_pair>(
            config, protocol::qp_surroundings{.paths = *to.paths,
                                              .memory = target != nullptr ? *target : *qp->memory,
                                              .control = *to.congestion,
                                              .peer = pool == nullptr ? nullptr : to.planes,
                                              .pool = pool,
                                              .proofs = pool == nullptr ? nullptr : to.proofs});
        qp->sends = layout_.sends(memory_.get());
        qp->receives = layout_.receives(memory_.get());
        qp->posted = std::make_unique<datapath::posted_sends>(layout_, memory_.get(), pool);
        qp->send_completions = completions_.get();
        qp->receive_completions = completions_.get();
        qp->events = events_;
        return qp;
    }

    // Messages of 8 bytes.
    void post_sends(std::uint32_t count)
    {
        session::send_entry entry;
        entry.flags = session::send_inline | session::send_signaled;
        entry.first.length = 8;
        for (; count > 0; --count, ++entry.id)
            (void)sends_.push(entry);
    }
    // Of 8 bytes that lie in no registered memory.
    void post_unreadable()
    {
        session::send_entry entry;
        entry.flags = session::send_signaled;
        entry.pieces = 1;
        entry.first = {.address = 0, .length = 8, .lkey = 1};
        (void)sends_.push(entry);
    }
    void post_receives(std::uint32_t count)
    {
        for (; count > 0; --count)
            (void)receives_.push({.id = count});
    }
    [[nodiscard]] std::size_t take_completions()
    {
        session::completion_entry entry;
        std::size_t count = 0;
        while (done_.pop(entry))
            ++count;
        return count;
    }
    // Receive requests that the worker has not taken yet.
    [[nodiscard]] std::uint32_t receives_waiting() const
    {
        return receives_.header().producer - receives_.header().consumer;
    }

private:
    session::queue_pair_layout layout_;
    kernel::mapping memory_;
    session::ring_view<session::send_entry> sends_;
    session::ring_view<session::receive_entry> receives_;
    session::ring_view<session::completion_entry> done_;
    std::unique_ptr<datapath::completion_ring> completions_;
    std::shared_ptr<const datapath::client_pipe> events_ =
        std::make_shared<const datapath::client_pipe>(kernel::unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)});
};

} // namespace mrc::test
