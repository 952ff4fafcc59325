// SPDX-License-Identifier: Apache-2.0
#include "datapath/gathered_writes.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace mrc::datapath
{

gathered_writes::gathered_writes() : bytes_{std::make_unique_for_overwrite<std::byte[]>(most_images * image_bytes)}
{
    packets_.reserve(most_packets);
    parts_.reserve(2 * most_packets);
}

bool gathered_writes::add(client_memory &memory, const process_range &range, std::uint64_t offset,
                          std::span<const std::byte> payload, const held_packet &whose)
{
    if (payload.size() > longest_payload || !has_room())
        return false;
    const auto number = static_cast<std::uint32_t>(packets_.size());
    packets_.push_back({.whose = whose, .memory = &memory, .bytes = payload.size()});
    for (std::uint64_t address = range.address + offset; !payload.empty();) {
        const auto begin = static_cast<std::uint32_t>(address % image_bytes);
        const std::size_t length = std::min(payload.size(), image_bytes - begin);
        const std::size_t where = image_at(range.process.get(), address - begin);
        std::memcpy(bytes_of(where).data() + begin, payload.data(), length);
        parts_.push_back({.image = static_cast<std::uint32_t>(where),
                          .begin = begin,
                          .end = begin + static_cast<std::uint32_t>(length),
                          .packet = number});
        payload = payload.subspan(length);
        address += length;
    }
    return true;
}

std::size_t gathered_writes::image_at(const kernel::process_memory *process, std::uint64_t address)
{
    for (std::size_t i = used_images_; i-- > 0;)
        if (images_[i].address == address && images_[i].process == process)
            return i;
    images_[used_images_] = {.process = process, .address = address};
    return used_images_++;
}

// Runs of what is adjacent or, as two packets may name the same bytes, overlaps; the later one's lie in the image.
void gathered_writes::write_all()
{
    std::ranges::sort(parts_, {}, [](const part &each) { return std::tuple{each.image, each.begin, each.packet}; });
    for (std::size_t first = 0; first < parts_.size();) {
        std::uint32_t end = parts_[first].end;
        std::size_t behind = first + 1;
        for (; behind < parts_.size() && parts_[behind].image == parts_[first].image && parts_[behind].begin <= end;
             ++behind)
            end = std::max(end, parts_[behind].end);
        write_run(std::span{parts_}.subspan(first, behind - first));
        first = behind;
    }
}

// One call as a rule. Where it comes to bytes that cannot be written, those packets that do not lie before them are
// written one by one, as if they had come alone: each fails for its own bytes only.
void gathered_writes::write_run(std::span<const part> run)
{
    const image &where = images_[run.front().image];
    const std::uint32_t begin = run.front().begin;
    const std::uint32_t end = std::ranges::max(run, {}, &part::end).end;
    const auto bytes = bytes_of(run.front().image).subspan(begin, end - begin);
    const std::size_t written = where.process->write_some(where.address + begin, bytes);
    if (written == bytes.size())
        return;
    for (const part &each : run)
        if (each.end - begin > written)
            write_part(each);
}

void gathered_writes::write_part(const part &each)
{
    const image &where = images_[each.image];
    const auto bytes = bytes_of(each.image).subspan(each.begin, each.end - each.begin);
    if (where.process->write(where.address + each.begin, bytes))
        return;
    packets_[each.packet].failed = true;
    packets_[each.packet].memory->give_up();
}

void gathered_writes::forget()
{
    packets_.clear();
    parts_.clear();
    used_images_ = 0;
}

} // namespace mrc::datapath
