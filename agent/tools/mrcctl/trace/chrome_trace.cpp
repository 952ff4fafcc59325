// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/chrome_trace.h"

#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "kernel/unique_fd.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/json_text.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr mode_t owner_only = 0600;

class chrome_writer
{
public:
    explicit chrome_writer(std::int64_t begin_ns) : begin_ns_{begin_ns} {}

    void add(const json::object &event) { add(json::serialize(event)); }
    // An object of JSON.
    void add(std::string_view event)
    {
        text_ += text_.empty() ? "" : ",\n";
        text_ += event;
    }
    void name(std::string_view what, std::size_t process, std::uint32_t thread, const std::string &name)
    {
        add({{"name", json_text(what)},
             {"ph", "M"},
             {"pid", process},
             {"tid", thread},
             {"args", json::object{{"name", json_text(name)}}}});
    }
    // Microseconds since the first event: of a time since 1970 a double has no nanoseconds.
    [[nodiscard]] double at(std::int64_t ns) const { return static_cast<double>(ns - begin_ns_) / 1e3; }
    [[nodiscard]] std::string whole() const
    {
        return fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"begin_real_time_ns\":\"{}\"}},"
                           "\"traceEvents\":[\n{}\n]}}\n",
                           begin_ns_, text_);
    }

private:
    std::int64_t begin_ns_;
    std::string text_;
};

void add_names(chrome_writer &to, std::span<const recording> recordings, std::span<const timed_row> line)
{
    std::set<std::pair<std::size_t, std::uint32_t>> threads;
    for (const timed_row &each : line)
        threads.emplace(each.of, recordings[each.of].rows[each.row].qpn);
    for (std::size_t of = 0; of < recordings.size(); ++of)
        to.name("process_name", of + 1, 0, recordings[of].from.name());
    for (const auto &[of, qpn] : threads)
        to.name("thread_name", of + 1, qpn, qpn == 0 ? "paths" : fmt::format("queue pair {}", qpn));
}

void add_instant(chrome_writer &to, const mrc_trace_row &row, const timed_row &when)
{
    text_buffer text;
    fmt::format_to(fmt::appender{text},
                   R"({{"name":"{0}{1}{2}","cat":"{0}","ph":"i","s":"t","ts":{3:.3f},"pid":{4},"tid":{5},"args":{{)",
                   kind_name(row), row.reason == 0 ? "" : " ", reason_name(row), to.at(when.at_ns), when.of + 1,
                   unsigned{row.qpn});
    add_event_fields(text, row);
    fmt::format_to(fmt::appender{text}, "}}}}");
    to.add(std::string_view{text.data(), text.size()});
}

// As an operation that begins with one host and ends with it, too: bars of a process.
void add_flights(chrome_writer &to, std::span<const recording> recordings, const packets_of &those,
                 std::int64_t second_ahead_ns, std::size_t &number)
{
    const recording &from = recordings[those.from];
    const recording &target = recordings[1 - those.from];
    for (const seen_twice &packet : those.packets) {
        const mrc_trace_row &sent = from.rows[packet.sent];
        const std::int64_t left = real_time(from, packet.sent) - (those.from == 0 ? 0 : second_ahead_ns);
        const std::int64_t came = real_time(target, packet.arrived) - (those.from == 0 ? second_ahead_ns : 0);
        const std::string id = fmt::format("{:#x}", ++number);
        for (const auto &[phase, at] : {std::pair{"b", left}, std::pair{"e", came}})
            to.add({{"name", json_text(fmt::format("{} psn {:#x}", kind_name(sent), unsigned{sent.psn}))},
                    {"cat", "packet"},
                    {"ph", phase},
                    {"id", json_text(id)},
                    {"ts", to.at(at)},
                    {"pid", those.from + 1},
                    {"tid", sent.qpn}});
    }
}

} // namespace

std::string chrome_trace(std::span<const recording> recordings, std::span<const timed_row> line,
                         std::int64_t second_ahead_ns, std::span<const packets_of> flights)
{
    chrome_writer writer{line.empty() ? 0 : line.front().at_ns};
    add_names(writer, recordings, line);
    for (const timed_row &each : line)
        add_instant(writer, recordings[each.of].rows[each.row], each);
    std::size_t number = 0;
    for (const packets_of &each : flights)
        add_flights(writer, recordings, each, second_ahead_ns, number);
    return writer.whole();
}

void write_chrome_trace(const std::string &file, std::span<const recording> recordings, std::span<const timed_row> line,
                        std::int64_t second_ahead_ns, std::span<const packets_of> flights)
{
    const auto fail = [&file] { throw ctl_error{fmt::format("cannot write '{}': {}", file, std::strerror(errno))}; };
    const kernel::unique_fd to{::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, owner_only)};
    if (!to)
        fail();
    const std::string text = chrome_trace(recordings, line, second_ahead_ns, flights);
    for (std::string_view left = text; !left.empty();) {
        const ssize_t written = ::write(to.get(), left.data(), left.size());
        if (written < 0 && errno != EINTR)
            fail();
        left.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
}

} // namespace mrc::ctl
