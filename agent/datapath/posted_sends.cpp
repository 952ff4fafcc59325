// SPDX-License-Identifier: Apache-2.0
#include "datapath/posted_sends.h"

#include <algorithm>
#include <cstring>

namespace mrc::datapath
{

posted_sends::taken posted_sends::take(std::uint32_t position, const session::send_entry &entry)
{
    const std::uint32_t at = slot(position);
    requests_[at] = {.id = entry.id, .flags = entry.flags, .pieces = 0};
    if ((entry.flags & session::send_inline) != 0)
        return {.bytes = entry.first.length, .valid = entry.first.length <= layout_.most_inline};
    if (entry.pieces > layout_.most_pieces)
        return {};
    session::gather_entry *kept = &pieces_[std::uint64_t{at} * row_];
    if (entry.pieces != 0)
        kept[0] = entry.first;
    if (entry.pieces > 1)
        std::memcpy(kept + 1, layout_.further_pieces(rings_, at), (entry.pieces - 1) * sizeof(session::gather_entry));
    requests_[at].pieces = entry.pieces;
    std::uint64_t bytes = 0;
    for (const session::gather_entry &piece : pieces_of(at))
        bytes += piece.length;
    return {.bytes = bytes, .valid = true};
}

bool posted_sends::read(std::uint32_t slot, std::uint64_t offset, std::span<std::byte> to, region_view &memory,
                        read_ahead &ahead) const
{
    if ((requests_[slot].flags & session::send_inline) != 0) {
        std::memcpy(to.data(), layout_.inline_bytes(rings_, slot) + offset, to.size());
        return true;
    }
    for (const session::gather_entry &piece : pieces_of(slot)) {
        if (offset >= piece.length) {
            offset -= piece.length;
            continue;
        }
        const auto part = std::min<std::uint64_t>(to.size(), piece.length - offset);
        const std::uint64_t rest = piece.length - offset - part;
        if (!memory.read(piece.lkey, piece.address + offset, to.first(part), rest, ahead))
            return false;
        to = to.subspan(part);
        offset = 0;
        if (to.empty())
            break;
    }
    return to.empty();
}

} // namespace mrc::datapath
