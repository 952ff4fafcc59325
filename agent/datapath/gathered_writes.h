// SPDX-License-Identifier: Apache-2.0
// Payload for the memory of clients' processes, held back until the worker has read what had arrived: then what is
// adjacent is written by one system call, in whatever order it came over the planes.
//
// It is held in images of the clients' memory, 64 KiB at the same places as there, so that adjacent packets lie side by
// side. Nobody may be told of a packet before its bytes are written (memory_sink.h): the worker writes all that is held
// before it sends or completes anything, and at once when there is no place for another packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/client_memory.h"
#include "protocol/packet_number.h"
#include "protocol/types.h"

namespace mrc::datapath
{

// Whose payload it is.
struct held_packet {
    protocol::qpn owner;
    protocol::packet_number number = 0;
};

class gathered_writes
{
public:
    static constexpr std::size_t image_bytes = 65536;
    static constexpr std::size_t most_images = 16;
    static constexpr std::size_t most_packets = 256;
    static constexpr std::size_t longest_payload = 4096;

    gathered_writes();

    [[nodiscard]] bool empty() const { return packets_.empty(); }
    // For one more packet, wherever it goes.
    [[nodiscard]] bool has_room() const { return packets_.size() < most_packets && used_images_ + 2 <= most_images; }

    // Holds `payload` for [offset, offset + its size) of `memory`, which stays where it is until write(). False: it is
    // longer than a packet's, or there is no room.
    [[nodiscard]] bool add(client_memory &memory, const process_range &range, std::uint64_t offset,
                           std::span<const std::byte> payload, const held_packet &whose);

    // Writes all that is held. Then calls refused(held_packet, payload bytes) for each packet of which some bytes could
    // not be written, and settled(qpn) for each queue pair of which packets were held, the same one perhaps several
    // times.
    template <typename Refused, typename Settled>
    void write(Refused refused, Settled settled)
    {
        write_all();
        for (const held_payload &each : packets_)
            if (each.failed)
                refused(each.whose, each.bytes);
        for (std::size_t i = 0; i < packets_.size(); ++i)
            if (i == 0 || packets_[i].whose.owner != packets_[i - 1].whose.owner)
                settled(packets_[i].whose.owner);
        forget();
    }

private:
    // 64 KiB of a process's memory.
    struct image {
        const kernel::process_memory *process = nullptr;
        std::uint64_t address = 0; // a multiple of its size
    };
    struct held_payload {
        held_packet whose;
        client_memory *memory = nullptr;
        std::size_t bytes = 0;
        bool failed = false;
    };
    // Bytes [begin, end) of an image that belong to one packet.
    struct part {
        std::uint32_t image = 0;
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        std::uint32_t packet = 0;
    };

    [[nodiscard]] std::span<std::byte> bytes_of(std::size_t number)
    {
        return {bytes_.get() + number * image_bytes, image_bytes};
    }
    [[nodiscard]] std::size_t image_at(const kernel::process_memory *process, std::uint64_t address);
    void write_all();
    void write_run(std::span<const part> run);
    void write_part(const part &each);
    void forget();

    std::unique_ptr<std::byte[]> bytes_; // of all images; pages that were never used are not there
    std::array<image, most_images> images_{};
    std::size_t used_images_ = 0;
    std::vector<held_payload> packets_;
    std::vector<part> parts_;
};

} // namespace mrc::datapath
