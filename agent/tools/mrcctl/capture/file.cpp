// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "kernel/map_names.h"
#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

constexpr std::uint32_t not_described = UINT32_MAX;
constexpr mode_t only_owner = 0600; // packets are other programs' data

// By enum mrc_capture_point.
constexpr std::array<std::string_view, MRC_CAPTURE_POINT_COUNT> point_texts{
    "received, as it arrived", "received, outer header popped", "sent, answer to an EV probe", "sent by XDP transmit",
    "sent by AF_XDP",          "sent by sockets, overlay",
};

[[noreturn]] void fail_write(const std::string &name)
{
    throw ctl_error{fmt::format("cannot write '{}': {}", name, std::strerror(errno))};
}

} // namespace

packet_direction direction_of(std::uint8_t point)
{
    return point == MRC_CAPTURE_ARRIVED || point == MRC_CAPTURE_POPPED ? packet_direction::inbound
                                                                       : packet_direction::outbound;
}

capture_file::capture_file(const std::string &name, const host_maps &maps, std::uint32_t snap_bytes)
    : name_{name}, maps_{maps}, snap_bytes_{snap_bytes}
{
    for (auto &port : interfaces_)
        port.fill(not_described);
    append_section(buffer_, "mrcctl " MRC_VERSION);
    if (name == "-") {
        fd_ = STDOUT_FILENO;
        if (::isatty(fd_) != 0)
            throw ctl_error{"standard output is a terminal; allowed with -w -: a pipe or a file"};
        return;
    }
    own_ = kernel::unique_fd{::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, only_owner)};
    if (!own_)
        fail_write(name_);
    fd_ = own_.get();
}

// Described when it is first needed: ports that mrcd does not have yet have no name.
std::uint32_t capture_file::interface_of(std::uint8_t port, std::uint8_t point)
{
    std::uint32_t &number = interfaces_[port][point];
    if (number == not_described) {
        const mrc_port_row row = maps_.ports()[port];
        append_interface(buffer_, {row.device, ::strnlen(row.device, sizeof(row.device))}, point_texts[point],
                         snap_bytes_);
        number = described_++;
    }
    return number;
}

void capture_file::add(const mrc_capture_slot &slot, std::uint64_t to_real_ns)
{
    if (slot.port >= MRC_MAX_PORTS || slot.point >= MRC_CAPTURE_POINT_COUNT)
        return;
    const auto bytes =
        std::as_bytes(std::span{slot.bytes}).first(std::min<std::size_t>(slot.captured, sizeof(slot.bytes)));
    append_packet(buffer_, {.interface = interface_of(slot.port, slot.point),
                            .time_ns = slot.time_ns + to_real_ns,
                            .length = slot.length,
                            .bytes = bytes,
                            .direction = direction_of(slot.point),
                            .comment = slot.verdict < MRC_VERDICT_COUNT ? kernel::verdict_names[slot.verdict] : "?"});
    ++packets_;
}

void capture_file::flush()
{
    for (std::string_view left = buffer_; !left.empty();) {
        const ssize_t written = ::write(fd_, left.data(), left.size());
        if (written < 0 && errno != EINTR)
            fail_write(name_);
        left.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    buffer_.clear();
}

} // namespace mrc::ctl
