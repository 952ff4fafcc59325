// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/live_frames.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

#include <bpf/bpf.h>
#include <linux/if_ether.h>
#include <poll.h>

#include "kernel/probes/device.h"
#include "kernel/probes/tiny_programs.h"
#include "kernel/probes/xdp_attach.h"
#include "kernel/startup_error.h"

namespace mrc::kernel::probes
{

namespace
{

using clock = std::chrono::steady_clock;

constexpr std::uint32_t burst = 64;
// The device's counter also has what the host itself sends, such as neighbour discovery of a link that has just come
// up; and a driver may count a frame only when the next one comes.
constexpr std::uint32_t tried_bursts = 4;
constexpr std::uint32_t counted_frames = tried_bursts * burst / 2;
constexpr int tried_calls = 16;
constexpr auto counter_deadline = std::chrono::milliseconds{100};
constexpr std::uint16_t ethertype_local_experimental = 0x88B5; // IEEE 802, for use within one network

} // namespace

std::array<std::byte, 60> frame_to_itself(const std::string &device)
{
    std::array<std::byte, 60> bytes{};
    static_assert(bytes.size() == ETH_ZLEN);
    const auto mac = mac_address_of(device);
    std::memcpy(bytes.data(), mac.data(), mac.size());
    std::memcpy(bytes.data() + mac.size(), mac.data(), mac.size());
    constexpr std::size_t ethertype_at = offsetof(ethhdr, h_proto);
    bytes[ethertype_at] = std::byte{ethertype_local_experimental >> 8U};
    bytes[ethertype_at + 1] = std::byte{ethertype_local_experimental & 0xFFU};
    return bytes;
}

live_frames::live_frames(bool attached, std::uint32_t longest)
    : target_{bpf_map_create(BPF_MAP_TYPE_DEVMAP, "mrc_probe", sizeof(std::uint32_t), sizeof(std::uint32_t), 1,
                             nullptr)},
      program_{target_ ? load_xdp_redirect(target_.get()) : unique_fd{}}
{
    if (!program_) {
        possible_ = refused(errno, "cannot load an XDP program that redirects");
        return;
    }
    if (attached)
        attach();
    const int error = run(std::vector<std::byte>(longest), 1); // the devmap's row is empty: dropped
    possible_ = error == 0 ? worked() : refused(error, "a frame of " + std::to_string(longest) + " bytes");
}

void live_frames::attach()
{
    try {
        tap_ = std::make_unique<tap_device>(tap_options{.name = "mrcprobe%d"});
    } catch (const startup_error &) {
        return; // calls are slow then, not impossible
    }
    link_ = attach_xdp(program_.get(), tap_->ifindex(), xdp_mode::native).link;
}

int live_frames::point_to(const std::string &device)
{
    const std::uint32_t row = 0;
    const int ifindex = ifindex_of(device);
    if (ifindex == 0)
        return ENODEV;
    return bpf_map_update_elem(target_.get(), &row, &ifindex, BPF_ANY) == 0 ? 0 : errno;
}

int live_frames::send(const std::string &device, std::uint32_t frames)
{
    return run(frame_to_itself(device), frames);
}

int live_frames::run(std::span<const std::byte> bytes, std::uint32_t frames)
{
    LIBBPF_OPTS(bpf_test_run_opts, call);
    call.data_in = bytes.data();
    call.data_size_in = static_cast<__u32>(bytes.size());
    call.repeat = static_cast<int>(frames);
    call.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
    call.batch_size = frames;
    const int result = bpf_prog_test_run_opts(program_.get(), &call);
    return result == 0 || result == -EINTR ? 0 : -result;
}

attempt live_frames::redirect_into(const std::string &device)
{
    if (!possible_.worked())
        return possible_;
    if (!is_running(device))
        return untried("the link is down");
    const auto before = transmitted_packets(device);
    if (!before)
        return untried("the device counts no packets");
    if (const int error = point_to(device); error != 0)
        return refused(error);
    const auto deadline = clock::now() + counter_deadline;
    for (std::uint32_t i = 0; i < tried_bursts; ++i)
        if (const int error = send(device, burst); error != 0)
            return refused(error);
    while (transmitted_packets(device).value_or(0) < *before + counted_frames) {
        if (clock::now() >= deadline)
            return refused(EOPNOTSUPP, "frames redirected to it were dropped");
        ::poll(nullptr, 0, 1);
    }
    return worked();
}

std::optional<double> live_frames::cost_ns(const std::string &device, int budget_ms)
{
    if (!possible_.worked() || point_to(device) != 0)
        return std::nullopt;
    const auto deadline = clock::now() + std::chrono::milliseconds{budget_ms};
    std::vector<double> calls;
    do {
        const auto begin = clock::now();
        if (send(device, burst) != 0)
            return std::nullopt;
        calls.push_back(std::chrono::duration<double, std::nano>(clock::now() - begin).count());
    } while (clock::now() < deadline);
    std::ranges::nth_element(calls, calls.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2));
    return calls[calls.size() / 2] / burst;
}

std::optional<send_cost> live_frames::cost(const std::string &device)
{
    if (!possible_.worked() || point_to(device) != 0)
        return std::nullopt;
    // Of one frame, the kernel would not look at its dispatcher.
    constexpr std::uint32_t few = 2;
    const auto fastest_of = [&](int calls, std::uint32_t frames) -> std::optional<std::int64_t> {
        std::int64_t fastest = INT64_MAX;
        while (calls-- > 0) {
            const auto begin = clock::now();
            if (send(device, frames) != 0)
                return std::nullopt;
            fastest = std::min(fastest, std::chrono::nanoseconds{clock::now() - begin}.count());
        }
        return fastest;
    };
    const auto brief = fastest_of(tried_calls, few);
    const auto full = fastest_of(tried_calls / 4, burst);
    if (!brief || !full)
        return std::nullopt;
    const std::int64_t frame_ns = std::max<std::int64_t>(*full - *brief, 0) / (burst - few);
    return send_cost{.call_ns = std::max<std::int64_t>(*brief - few * frame_ns, 0), .frame_ns = frame_ns};
}

} // namespace mrc::kernel::probes
