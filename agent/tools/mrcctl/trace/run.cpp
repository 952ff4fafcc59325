// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <unistd.h>

#include "kernel/monotonic_clock.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/orderly_end.h"
#include "tools/mrcctl/process.h"
#include "tools/mrcctl/trace/chrome_trace.h"
#include "tools/mrcctl/trace/lease.h"
#include "tools/mrcctl/trace/reader.h"

namespace mrc::ctl
{

namespace
{

// A host sends or receives some 400,000 packets a second: the rows hold 70 ms of them. Each reading takes a core from
// somebody.
constexpr std::chrono::milliseconds between_reads{10};
constexpr std::size_t enough_text = 1 << 16; // bytes, for a call of write()
constexpr std::uint64_t second_ns = 1'000'000'000;

std::string host_name()
{
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()} : "?";
}

void require_queue_pair(const host_maps &maps, std::uint32_t qpn)
{
    if (qpn != 0 && maps.qps()[MRC_QPN_ROW(qpn)].qpn != qpn)
        throw ctl_error{fmt::format("no queue pair {}; `mrcctl qp list` names those that exist", qpn)};
}

// Local time: "02:47:11.123456789  ". Asks for the time zone once in a second of the events'.
class wall_clock
{
public:
    void add(text_buffer &to, std::uint64_t real_ns)
    {
        if (const std::uint64_t second = real_ns / second_ns; second != second_) {
            second_ = second;
            hms_ = fmt::format("{:%H:%M:%S}", fmt::localtime(static_cast<std::time_t>(second)));
        }
        fmt::format_to(fmt::appender{to}, FMT_COMPILE("{}.{:09}  "), hms_, real_ns % second_ns);
    }

private:
    std::uint64_t second_ = UINT64_MAX;
    std::string hms_;
};

class trace_run
{
public:
    trace_run(const host_maps &maps, const trace_filter &filter, const trace_end &end, trace_output output)
        : maps_{maps}, filter_{filter}, end_{end}, output_{std::move(output)}, pins_{maps.of()}
    {
        require_queue_pair(maps, filter.qpn);
        if (!output_.file.empty()) {
            end_.count = end_.count.value_or(most_events_of_a_file);
            recorded_.rows.resize(std::min(*end_.count, most_events_of_a_file));
        }
        recorded_.from = {
            .instance = maps.of().name, .host = host_name(), .to_real_ns = kernel::real_time_offset().count()};
    }

    // The exit status.
    int run()
    {
        std::optional<trace_lease> lease{std::in_place, pins_.ring(), filter_, lease_clock, lease_pause};
        trace_reader reader{pins_.ring(), pins_.rows()};
        fmt::print(stderr, "mrcctl: tracing on instance '{}'\n", maps_.of().name);
        if (output_.json)
            fmt::print("{}\n", first_line(recorded_.from));
        follow(*lease, reader);
        const std::uint64_t lapses = lease->lapses();
        lease.reset();
        take(reader); // what came before the lease ended
        finish(reader, lapses);
        return has_ended_ ? 1 : 0;
    }

private:
    void follow(trace_lease &lease, trace_reader &reader)
    {
        const std::uint64_t begin = lease_clock();
        const std::uint64_t end =
            end_.seconds ? begin + static_cast<std::uint64_t>(*end_.seconds * second_ns) : UINT64_MAX;
        std::uint64_t next_look = begin;
        for (std::uint64_t now = begin; !is_to_end() && now < end && !is_full() && !has_ended_; now = lease_clock()) {
            lease.renew();
            if (now >= next_look) {
                has_ended_ = !look_at_daemon(maps_.host()).alive;
                next_look = now + renewal_ns;
            }
            take(reader);
            std::this_thread::sleep_for(between_reads);
        }
    }

    [[nodiscard]] bool is_full() const { return end_.count && events_ >= *end_.count; }

    void take(trace_reader &reader)
    {
        reader.take([this](std::uint64_t first, std::span<const mrc_trace_row> rows) {
            for (const mrc_trace_row &row : rows)
                take({row, first++});
            if (text_.size() >= enough_text)
                write_text();
        });
        write_text(); // whoever reads a pipe wants it now
    }

    void take(const traced_row &row)
    {
        if (is_full() || !passes(filter_, row)) // of a round that began with an earlier one's filter
            return;
        ++events_;
        if (!output_.file.empty())
            keep(row);
        if (output_.json) {
            text_.push_back('{');
            add_row_fields(text_, row, recorded_.from);
            text_.append(std::string_view{"}\n"});
        } else if (output_.file.empty()) {
            clock_.add(text_, row.time_ns + static_cast<std::uint64_t>(recorded_.from.to_real_ns));
            add_words(text_, row);
            text_.push_back('\n');
        }
    }

    // Of events_ rows the last.
    void keep(const traced_row &row)
    {
        if (events_ > recorded_.rows.size())
            recorded_.rows.resize(2 * recorded_.rows.size());
        recorded_.rows[events_ - 1] = row;
    }

    void write_text()
    {
        if (text_.size() == 0)
            return;
        if (std::fwrite(text_.data(), 1, text_.size(), stdout) != text_.size() || std::fflush(stdout) != 0)
            throw ctl_error{"cannot write to standard output"};
        text_.clear();
    }

    void finish(const trace_reader &reader, std::uint64_t lapses)
    {
        if (!output_.file.empty()) {
            recorded_.rows.resize(events_);
            write_chrome_trace(output_.file, {&recorded_, 1}, time_line({&recorded_, 1}, 0, {}), 0, {});
        }
        if (output_.json)
            fmt::print("{}\n", last_line(events_, reader.lost()));
        if (std::fflush(stdout) != 0)
            throw ctl_error{"cannot write to standard output"};
        fmt::print(stderr, "mrcctl: {} events; {} lost, others took their places before they could be read\n", events_,
                   reader.lost());
        if (lapses != 0)
            fmt::print(stderr,
                       "mrcctl: {} times nothing was traced for a while: mrcctl had been held up for a second\n",
                       lapses);
        if (has_ended_)
            fmt::print(stderr, "mrcctl: mrcd of instance '{}' has ended\n", maps_.of().name);
        else if (const auto remark = state_remark(maps_.of().name, look_at_daemon(maps_.host())); !remark.empty())
            fmt::print(stderr, "mrcctl: {}\n", remark);
    }

    const host_maps &maps_;
    trace_filter filter_;
    trace_end end_;
    trace_output output_;
    trace_maps pins_;
    // Rows are kept for a file only, in memory that the kernel has given before the trace begins.
    recording recorded_;
    text_buffer text_; // what is still to be printed
    wall_clock clock_;
    std::uint64_t events_ = 0;
    bool has_ended_ = false; // the daemon
};

} // namespace

int run_trace(const host_maps &maps, const trace_filter &filter, const trace_end &end, const trace_output &output)
{
    end_by_signals();
    return trace_run{maps, filter, end, output}.run();
}

} // namespace mrc::ctl
