// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/recording.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/compile.h>
#include <fmt/format.h>

#include "kernel/map_names.h"
#include "protocol/paths/path_states.h"
#include "protocol/trace_event.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/json_text.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;
using protocol::trace_kind;
using protocol::trace_reason;

constexpr std::string_view recording_mark = "mrc-trace";

// Formats are compiled, as a line is made for every packet.
template <typename Format, typename... Values>
void put(text_buffer &to, const Format &format, const Values &...values)
{
    fmt::format_to(fmt::appender{to}, format, values...);
}

template <typename Format>
void add_number_or_null(text_buffer &to, const Format &format, bool has_it, std::uint64_t value)
{
    put(to, format);
    if (has_it)
        put(to, FMT_COMPILE("{}"), value);
    else
        put(to, FMT_COMPILE("null"));
}

bool is_kind(const mrc_trace_row &row, trace_kind kind)
{
    return row.kind == static_cast<__u16>(kind);
}

bool has_psn(const mrc_trace_row &row)
{
    return !is_kind(row, trace_kind::probe) && !is_kind(row, trace_kind::path) && !is_kind(row, trace_kind::state) &&
           row.reason != static_cast<__u16>(trace_reason::probe) && (!is_kind(row, trace_kind::timer) || row.ev != 0);
}

// States of paths in the words of protocol::path_state, which the ABI counts from another number.
std::string_view state_name(const mrc_trace_row &row)
{
    return is_kind(row, trace_kind::path) ? kernel::word_of(kernel::path_state_names, row.value + 1)
                                          : kernel::word_of(kernel::qp_state_names, row.value);
}
static_assert(static_cast<int>(protocol::path_state::good) + 1 == MRC_PATH_GOOD &&
              static_cast<int>(protocol::path_state::denied) + 1 == MRC_PATH_DENIED);

void add_value_words(text_buffer &to, const mrc_trace_row &row)
{
    const std::string_view name = value_name(row);
    if (name == "state")
        put(to, FMT_COMPILE("  {}"), state_name(row));
    else if (name == "bytes")
        put(to, FMT_COMPILE("  {} bytes"), row.value);
    else if (name == "age_ns" && row.value != 0)
        put(to, FMT_COMPILE("  after {:.1f} us"), static_cast<double>(row.value) / 1e3);
    else if (name == "probe_number")
        put(to, FMT_COMPILE("  number {}"), row.value);
    else if (name == "answer" && row.value != 0)
        put(to, FMT_COMPILE("  {:#x}"), row.value);
}

template <std::size_t Size>
std::optional<std::uint8_t> number_of(const std::array<std::string_view, Size> &names, const json::value *name)
{
    if (name == nullptr || !name->is_string())
        return std::nullopt;
    const json::string &text = name->get_string();
    const auto *at = std::ranges::find(names, std::string_view{text.data(), text.size()});
    return at == names.end() ? std::nullopt : std::optional{static_cast<std::uint8_t>(at - names.begin())};
}

// 0 where there is none.
template <typename T>
T number_in(const json::object &from, std::string_view name)
{
    const json::value *value = from.if_contains({name.data(), name.size()});
    return value != nullptr && !value->is_null() ? value->to_number<T>() : T{};
}

std::uint64_t value_in(const json::object &line, const mrc_trace_row &row)
{
    const std::string_view name = value_name(row);
    if (name == "state") // in the words of readers; the number stands beside it
        return number_in<std::uint64_t>(line, "state_number");
    if (const json::value *text = line.if_contains({name.data(), name.size()}); text != nullptr && text->is_string())
        return std::stoull(std::string{text->get_string().c_str()}, nullptr, 0);
    return name.empty() ? 0 : number_in<std::uint64_t>(line, name);
}

// Nothing: it is no event.
std::optional<traced_row> row_in(const json::object &line)
{
    const auto kind = number_of(protocol::trace_kind_names, line.if_contains("event"));
    if (!kind)
        return std::nullopt;
    traced_row row{{.time_ns = number_in<std::uint64_t>(line, "time_ns"),
                    .value = 0,
                    .qpn = number_in<std::uint32_t>(line, "qpn") & MRC_QPN_MASK,
                    .kind = *kind,
                    .peer_qpn = number_in<std::uint32_t>(line, "peer_qpn") & MRC_QPN_MASK,
                    .reason = number_of(protocol::trace_reason_names, line.if_contains("reason")).value_or(0),
                    .psn = number_in<std::uint32_t>(line, "psn") & MRC_PSN_MASK,
                    .reserved = 0,
                    .ev = number_in<std::uint32_t>(line, "ev")},
                   number_in<std::uint64_t>(line, "number")};
    row.value = value_in(line, row);
    return row;
}

std::string text_at(const json::object &line, std::string_view name)
{
    const json::string &text = line.at({name.data(), name.size()}).as_string();
    return {text.data(), text.size()};
}

// False: it is no line of a recording.
bool take_line(recording &to, const json::object &line)
{
    if (const json::value *mark = line.if_contains("recording")) {
        to.from = {.instance = text_at(line, "instance"), .host = text_at(line, "host"), .to_real_ns = 0};
        to.from.to_real_ns = number_in<std::int64_t>(line, "to_real_ns");
        return mark->as_string() == json_text(recording_mark);
    }
    if (line.contains("lost")) {
        to.lost = number_in<std::uint64_t>(line, "lost");
        to.is_whole = true;
        return true;
    }
    const auto row = row_in(line);
    if (row)
        to.rows.push_back(*row);
    return row.has_value() && !to.from.instance.empty();
}

bool take_text(recording &to, std::string_view text)
{
    try {
        const json::value line = json::parse({text.data(), text.size()});
        return line.is_object() && take_line(to, line.get_object());
    } catch (const std::exception &) { // of the parser, of a field of another type
        return false;
    }
}

} // namespace

std::string_view kind_name(const mrc_trace_row &row)
{
    return kernel::word_of(protocol::trace_kind_names, row.kind);
}

std::string_view reason_name(const mrc_trace_row &row)
{
    return row.reason == 0 ? "" : kernel::word_of(protocol::trace_reason_names, row.reason);
}

std::string_view value_name(const mrc_trace_row &row)
{
    switch (static_cast<trace_kind>(row.kind)) {
    case trace_kind::arrive:
        return row.reason == static_cast<__u16>(trace_reason::probe) ? "probe_number" : "bytes";
    case trace_kind::send:
        return "bytes";
    case trace_kind::probe:
        return "probe_number";
    case trace_kind::answer:
    case trace_kind::sack:
    case trace_kind::nack:
    case trace_kind::ack:
        return "answer";
    case trace_kind::loss:
    case trace_kind::timer:
        return "age_ns";
    case trace_kind::path:
    case trace_kind::state:
        return "state";
    case trace_kind::none:
        break;
    }
    return "";
}

void add_event_fields(text_buffer &to, const mrc_trace_row &row)
{
    if (row.reason == 0)
        put(to, FMT_COMPILE(R"("reason":null)"));
    else
        put(to, FMT_COMPILE(R"("reason":"{}")"), reason_name(row));
    add_number_or_null(to, FMT_COMPILE(R"(,"psn":)"), has_psn(row), row.psn);
    add_number_or_null(to, FMT_COMPILE(R"(,"ev":)"), row.ev != 0, row.ev);
    const std::string_view name = value_name(row);
    if (name == "state")
        put(to, FMT_COMPILE(R"(,"state":"{}","state_number":{})"), state_name(row), row.value);
    else if (name == "answer") // a bitmap has more bits than numbers of JSON in some readers
        put(to, FMT_COMPILE(R"(,"answer":"{:#x}")"), row.value);
    else if (!name.empty())
        put(to, FMT_COMPILE(R"(,"{}":{})"), name, row.value);
}

std::string first_line(const trace_source &from)
{
    return json::serialize(json::object{{"recording", json_text(recording_mark)},
                                        {"instance", json_text(from.instance)},
                                        {"host", json_text(from.host)},
                                        {"to_real_ns", from.to_real_ns}});
}

void add_row_fields(text_buffer &to, const traced_row &row, const trace_source &from)
{
    put(to, FMT_COMPILE(R"("number":{},"time_ns":{},"real_time_ns":{},"event":"{}")"), row.number, row.time_ns,
        row.time_ns + static_cast<std::uint64_t>(from.to_real_ns), kind_name(row));
    add_number_or_null(to, FMT_COMPILE(R"(,"qpn":)"), row.qpn != 0, row.qpn);
    add_number_or_null(to, FMT_COMPILE(R"(,"peer_qpn":)"), row.qpn != 0, row.peer_qpn);
    put(to, FMT_COMPILE(","));
    add_event_fields(to, row);
}

std::string last_line(std::uint64_t rows, std::uint64_t lost)
{
    return json::serialize(json::object{{"events", rows}, {"lost", lost}});
}

recording parse_recording(std::string_view text, const std::string &name)
{
    recording found;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        const bool is_cut = end == text.size(); // while it was written
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || take_text(found, line) || is_cut)
            continue;
        throw ctl_error{
            fmt::format("line {} of '{}' is no trace; allowed: what `mrcctl trace --json` prints", number, name)};
    }
    if (found.from.instance.empty())
        throw ctl_error{
            fmt::format("'{}' has no line that begins a trace; allowed: what `mrcctl trace --json` prints", name)};
    return found;
}

void add_words(text_buffer &to, const mrc_trace_row &row)
{
    put(to, FMT_COMPILE("{:7}{:13}"), kind_name(row), reason_name(row));
    if (row.qpn != 0)
        put(to, FMT_COMPILE(" qp {} of {}"), unsigned{row.qpn}, unsigned{row.peer_qpn});
    if (has_psn(row))
        put(to, FMT_COMPILE("  psn {:#x}"), unsigned{row.psn});
    if (row.ev != 0)
        put(to, FMT_COMPILE("  ev {:#x}"), row.ev);
    add_value_words(to, row);
}

} // namespace mrc::ctl
