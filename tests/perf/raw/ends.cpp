// SPDX-License-Identifier: Apache-2.0
#include "raw/ends.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <utility>

#include "codec/byte_order.h"
#include "kernel/monotonic_clock.h"
#include "kernel/probes/device.h"

namespace mrc::raw
{

namespace
{

using namespace std::chrono_literals;
using kernel::monotonic_now;
using protocol::duration;
using protocol::instant;

constexpr std::uint32_t reports_per_window = 8;
constexpr std::uint32_t receive_batch = 64; // of each port
constexpr int longest_sleep_ms = 1;
constexpr duration silence = 100ms;
constexpr duration answer_limit = 3s; // for a far end to answer at all
constexpr duration asking_interval = 10ms;
constexpr int unchanged_totals = 20; // answers after which nothing more is expected to arrive
constexpr duration ping_limit = 100ms;

constexpr auto nothing = [](std::span<std::byte>) {};

std::uint64_t nanoseconds(instant at)
{
    return static_cast<std::uint64_t>(std::chrono::nanoseconds{at.time_since_epoch()}.count());
}

// A program's memory, which payload comes from or goes to: message after message of its size.
class program_buffer
{
public:
    explicit program_buffer(bool used) : bytes_(used ? RAW_REGION_BYTES : 0) {}

    void fill(std::span<std::byte> payload, std::uint64_t number) const
    {
        if (!bytes_.empty())
            std::memcpy(payload.data(), bytes_.data() + place(payload, number), payload.size());
    }
    void take(std::span<const std::byte> payload, std::uint64_t number)
    {
        if (!bytes_.empty() && !payload.empty())
            std::memcpy(bytes_.data() + place(payload, number), payload.data(), payload.size());
    }

private:
    [[nodiscard]] static std::size_t place(std::span<const std::byte> payload, std::uint64_t number)
    {
        return offset_of(number, static_cast<std::uint32_t>(payload.size()));
    }

    std::vector<std::byte> bytes_;
};

class server
{
public:
    explicit server(const end_settings &settings) : end_{settings}, buffer_{settings.copy} {}

    [[noreturn]] void serve()
    {
        for (;;) {
            const instant now = monotonic_now();
            const std::uint32_t frames = end_.way().receive(
                receive_batch, [&](std::span<const std::byte> frame) { take(end_.parse(frame), now); });
            if (end_.settings().in_xdp == RAW_MARK)
                answer_marked();
            end_.engine().flush();
            if (frames == 0)
                end_.idle(longest_sleep_ms);
        }
    }

private:
    void take(const std::optional<arrival> &packet, instant now)
    {
        if (!packet || packet->what.path >= end_.paths() || !act_on(*packet, now))
            ++totals_.foreign;
    }

    // The payload is read where the XDP program has placed it.
    void answer_marked()
    {
        while (const auto ping = end_.way().placed().look())
            answer({.run = run_,
                    .offset = offset_of(ping->number, static_cast<std::uint32_t>(ping->payload.size())),
                    .number = ping->number,
                    .kind = RAW_PONG,
                    .path = ping->path,
                    .payload_bytes = static_cast<std::uint32_t>(ping->payload.size())},
                   ping->payload);
    }

    // False: it is not of the run.
    bool act_on(const arrival &packet, instant now)
    {
        const note &what = packet.what;
        if (what.kind == RAW_BEGIN) {
            begin(what);
            return true;
        }
        if (what.run != run_)
            return false;
        if (packet.inner.size() == payload_at)
            ++totals_.placed;
        switch (what.kind) {
        case RAW_DATA:
            count(what, packet.payload, now);
            return true;
        case RAW_PING:
            ++totals_.packets;
            answer({.run = run_,
                    .offset = what.offset,
                    .number = what.number,
                    .kind = RAW_PONG,
                    .path = what.path,
                    .payload_bytes = what.payload_bytes},
                   packet.payload);
            return true;
        case RAW_FINISH:
            report(what.path);
            return true;
        default:
            return false;
        }
    }

    void begin(const note &what)
    {
        if (what.run != run_) {
            totals_ = {};
            run_ = what.run;
            report_after_ = std::max<std::uint64_t>(what.number, 1);
            end_.way().placed().begin(run_, report_after_);
        }
        report(what.path);
    }

    void count(const note &what, std::span<const std::byte> payload, instant now)
    {
        buffer_.take(payload, what.number);
        if (totals_.packets == 0)
            totals_.first_ns = nanoseconds(now);
        totals_.last_ns = nanoseconds(now);
        totals_.bytes += what.payload_bytes;
        totals_.behind = std::max<std::uint64_t>(totals_.behind, what.number + 1);
        if (++totals_.packets % report_after_ == 0)
            report(what.path);
    }

    void report(std::uint8_t path)
    {
        run_totals all = totals_;
        end_.way().placed().add_to(all);
        answer({.run = run_, .kind = RAW_TOTALS, .path = path, .payload_bytes = sizeof all},
               std::as_bytes(std::span{&all, 1}));
    }

    // By the plane that the packet came by.
    void answer(const note &what, std::span<const std::byte> payload)
    {
        if (end_.engine().ready())
            end_.queue(what, [&](std::span<std::byte> place) { std::ranges::copy(payload, place.begin()); });
    }

    end end_;
    program_buffer buffer_;
    run_totals totals_;
    std::uint32_t run_ = 0;
    std::uint64_t report_after_ = 1;
};

// What a run has of the far end.
class conversation
{
public:
    conversation(end &own, std::uint64_t report_after) : end_{own}
    {
        end_.way().placed().begin(id_, report_after);
        const instant limit = monotonic_now() + answer_limit;
        while (!heard_) {
            if (monotonic_now() > limit)
                throw run_error{
                    "the far end does not answer: is mrc-bench-raw serve running there, with the same paths?"};
            ask({.number = report_after, .kind = RAW_BEGIN});
        }
    }

    // Numbers of all that arrived are less.
    [[nodiscard]] std::uint64_t behind() const { return result_.far.behind; }
    [[nodiscard]] run_result &result() { return result_; }
    [[nodiscard]] std::uint32_t id() const { return id_; }

    // Whether there were answers. on_pong(number) hears of those to pings.
    template <typename Callback>
    bool look(Callback &&on_pong)
    {
        const std::uint32_t frames = end_.way().receive(receive_batch, [&](std::span<const std::byte> frame) {
            const auto packet = end_.parse(frame);
            const bool of_run = packet && packet->what.run == id_;
            if (of_run && packet->what.kind == RAW_TOTALS && packet->payload.size() == sizeof(run_totals))
                hear(codec::load<run_totals>(packet->payload.data()));
            else if (of_run && packet->what.kind == RAW_PROGRESS)
                result_.far.behind = std::max<std::uint64_t>(result_.far.behind, packet->what.number);
            else if (of_run && packet->what.kind == RAW_PONG)
                on_pong(packet->what.number);
            else
                ++result_.foreign;
        });
        if (end_.settings().in_xdp != RAW_MARK)
            return frames != 0;
        const auto placed = end_.way().placed().look();
        if (placed)
            on_pong(placed->number);
        return frames != 0 || placed;
    }
    bool look()
    {
        return look([](std::uint64_t) {});
    }

    // Waits for the totals until everything has arrived, or nothing more does.
    void finish()
    {
        const instant limit = monotonic_now() + answer_limit;
        int unchanged = 0;
        do {
            const std::uint64_t before = result_.far.packets;
            heard_ = false;
            ask({.kind = RAW_FINISH});
            if (!heard_ && monotonic_now() > limit)
                throw run_error{"the far end no longer answers"};
            unchanged = result_.far.packets == before ? unchanged + 1 : 0;
        } while (!heard_ || (result_.far.packets != result_.sent && unchanged < unchanged_totals));
    }

private:
    void hear(const run_totals &said)
    {
        heard_ = true;
        if (said.packets >= result_.far.packets) // not one that another has overtaken
            result_.far = said;
    }

    // Sends it by one path, the next time by another, and waits for an answer for a while.
    void ask(note what)
    {
        what.run = id_;
        what.path = static_cast<std::uint8_t>(asked_++ % end_.paths());
        end_.send(what, nothing);
        const instant limit = monotonic_now() + asking_interval;
        while (!look() && monotonic_now() < limit)
            end_.idle(longest_sleep_ms);
    }

    end &end_;
    std::uint32_t id_ = std::random_device{}() | 1U;
    std::size_t asked_ = 0;
    bool heard_ = false;
    run_result result_;
};

class stream
{
public:
    stream(end &own, const run_settings &settings)
        : end_{own}, settings_{settings}, run_{own, settings.window / reports_per_window}, buffer_{own.settings().copy}
    {
    }

    run_result send_all()
    {
        const instant over = monotonic_now() + std::chrono::seconds{settings_.seconds};
        instant now = monotonic_now();
        for (heard_at_ = now; now < over; now = monotonic_now()) {
            if (run_.look())
                heard_at_ = now;
            if (send_burst() == 0)
                wait(now);
        }
        end_.engine().flush();
        run_.finish();
        run_.result().refused = end_.way().placed().refused();
        return std::move(run_.result());
    }

private:
    [[nodiscard]] std::uint64_t under_way() const
    {
        const std::uint64_t known = std::max(run_.behind(), given_up_);
        return sent_ - known;
    }

    std::uint32_t send_burst()
    {
        std::uint32_t packets = 0;
        for (; packets < end_.settings().burst && under_way() < settings_.window && end_.engine().ready(); ++packets) {
            end_.queue({.run = run_.id(),
                        .offset = offset_of(sent_, settings_.payload_bytes),
                        .number = sent_,
                        .kind = RAW_DATA,
                        .path = static_cast<std::uint8_t>(sent_ % end_.paths()),
                        .payload_bytes = settings_.payload_bytes},
                       [&](std::span<std::byte> payload) { buffer_.fill(payload, sent_); });
            run_.result().sent = ++sent_;
        }
        end_.engine().flush();
        return packets;
    }

    void wait(instant now)
    {
        if (under_way() < settings_.window) // for the port, which takes no more for now
            return;
        if (now - heard_at_ > silence) {
            given_up_ = sent_;
            heard_at_ = now;
            ++run_.result().silences;
        } else {
            end_.idle(longest_sleep_ms);
        }
    }

    end &end_;
    const run_settings &settings_;
    conversation run_;
    program_buffer buffer_;
    std::uint64_t sent_ = 0;
    std::uint64_t given_up_ = 0; // what was sent before this is no longer waited for
    instant heard_at_;
};

} // namespace

end::end(const end_settings &settings) : settings_{settings}, ports_{settings.paths, settings.in_xdp, settings.icrc}
{
    std::uint32_t longest = MRC_PUSH_FRAME_MAX - MRC_ETHERNET_BYTES;
    for (const path &each : settings_.paths) {
        usids_.push_back(host_usid(each));
        longest = std::min(longest, kernel::probes::mtu_of(each.device));
    }
    const auto room = static_cast<std::uint32_t>(longest - codec::ipv6_header_bytes);
    longest_payload_ = room < inner_bytes(4) ? 0 : (room - inner_bytes(0)) / 4 * 4; // pad included
    if (settings_.live_frames)
        live_ = std::make_unique<live_transmit>(settings_.paths, settings_.burst, settings_.from_region);
    else
        rings_ = std::make_unique<ring_transmit>(ports_, settings_.paths);
    engine_ = live_ ? &live_->engine() : rings_.get();
}

void serve(const end_settings &settings, const std::function<void()> &on_ready)
{
    server far{settings};
    on_ready();
    far.serve();
}

run_result run_stream(end &own, const run_settings &settings)
{
    return stream{own, settings}.send_all();
}

run_result run_ping_pong(end &own, const run_settings &settings)
{
    conversation between{own, 1};
    run_result &result = between.result();
    const program_buffer buffer{own.settings().copy};
    const instant over = monotonic_now() + std::chrono::seconds{settings.seconds};
    while (monotonic_now() < over) {
        const std::uint64_t number = result.sent++;
        const instant begin = monotonic_now();
        own.send({.run = between.id(),
                  .offset = offset_of(number, settings.payload_bytes),
                  .number = number,
                  .kind = RAW_PING,
                  .path = static_cast<std::uint8_t>(number % own.paths()),
                  .payload_bytes = settings.payload_bytes},
                 [&](std::span<std::byte> payload) { buffer.fill(payload, number); });
        bool answered = false;
        while (!answered && monotonic_now() - begin < ping_limit) {
            if (!between.look([&](std::uint64_t answer) { answered = answered || answer == number; }))
                own.idle(longest_sleep_ms);
        }
        if (!answered)
            continue;
        ++result.answered;
        result.half_ns.push_back(
            static_cast<std::uint32_t>(std::chrono::nanoseconds{monotonic_now() - begin}.count() / 2));
    }
    between.finish();
    result.refused = own.way().placed().refused();
    std::ranges::sort(result.half_ns);
    return std::move(result);
}

} // namespace mrc::raw
