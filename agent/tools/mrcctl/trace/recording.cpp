// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/recording.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "kernel/map_names.h"
#include "protocol/paths/path_states.h"
#include "protocol/trace_event.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/json_values.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;
using protocol::trace_kind;
using protocol::trace_reason;

constexpr std::string_view recording_mark = "mrc-trace";

template <std::size_t Size>
std::string name_or_number(const std::array<std::string_view, Size> &names, std::size_t value)
{
    const json::string name = name_in(names, value);
    return {name.data(), name.size()};
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
std::string state_name(const mrc_trace_row &row)
{
    return is_kind(row, trace_kind::path) ? name_or_number(kernel::path_state_names, row.value + 1)
                                          : name_or_number(kernel::qp_state_names, row.value);
}
static_assert(static_cast<int>(protocol::path_state::good) + 1 == MRC_PATH_GOOD &&
              static_cast<int>(protocol::path_state::denied) + 1 == MRC_PATH_DENIED);

std::string value_words(const mrc_trace_row &row)
{
    const std::string_view name = value_name(row);
    if (name == "state")
        return state_name(row);
    if (name == "bytes")
        return fmt::format("{} bytes", row.value);
    if (name == "age_ns")
        return row.value == 0 ? "" : fmt::format("after {:.1f} us", static_cast<double>(row.value) / 1e3);
    if (name == "probe_number")
        return fmt::format("number {}", row.value);
    if (name == "answer" && row.value != 0)
        return fmt::format("{:#x}", row.value);
    return "";
}

template <std::size_t Size>
std::optional<std::uint16_t> number_of(const std::array<std::string_view, Size> &names, const json::value *name)
{
    if (name == nullptr || !name->is_string())
        return std::nullopt;
    const json::string &text = name->get_string();
    const auto *at = std::ranges::find(names, std::string_view{text.data(), text.size()});
    return at == names.end() ? std::nullopt : std::optional{static_cast<std::uint16_t>(at - names.begin())};
}

template <typename T>
void take_number(T &to, const json::object &from, std::string_view name)
{
    if (const json::value *value = from.if_contains({name.data(), name.size()}); value != nullptr && !value->is_null())
        to = value->to_number<T>();
}

std::uint64_t value_in(const json::object &line, const mrc_trace_row &row)
{
    std::uint64_t value = 0;
    const std::string_view name = value_name(row);
    if (name == "state") // in the words of readers; the number stands beside it
        take_number(value, line, "state_number");
    else if (const json::value *text = line.if_contains({name.data(), name.size()});
             text != nullptr && text->is_string())
        value = std::stoull(std::string{text->get_string().c_str()}, nullptr, 0);
    else if (!name.empty())
        take_number(value, line, name);
    return value;
}

// Nothing: it is no event.
std::optional<mrc_trace_row> row_in(const json::object &line)
{
    mrc_trace_row row{};
    const auto kind = number_of(protocol::trace_kind_names, line.if_contains("event"));
    if (!kind)
        return std::nullopt;
    row.kind = *kind;
    row.reason = number_of(protocol::trace_reason_names, line.if_contains("reason")).value_or(0);
    take_number(row.number, line, "number");
    take_number(row.time_ns, line, "time_ns");
    take_number(row.qpn, line, "qpn");
    take_number(row.peer_qpn, line, "peer_qpn");
    take_number(row.psn, line, "psn");
    take_number(row.ev, line, "ev");
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
        take_number(to.from.to_real_ns, line, "to_real_ns");
        return mark->as_string() == json_text(recording_mark);
    }
    if (line.contains("lost")) {
        take_number(to.lost, line, "lost");
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

bool passes(const trace_filter &filter, const mrc_trace_row &row)
{
    return (filter.kinds >> (row.kind & 31U) & 1U) != 0 &&
           (filter.qpn == 0 || row.qpn == 0 || row.qpn == filter.qpn || row.peer_qpn == filter.qpn);
}

std::string kind_name(const mrc_trace_row &row)
{
    return name_or_number(protocol::trace_kind_names, row.kind);
}

std::string reason_name(const mrc_trace_row &row)
{
    return name_or_number(protocol::trace_reason_names, row.reason);
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

void add_event_fields(json::object &to, const mrc_trace_row &row)
{
    to["reason"] = row.reason == 0 ? json::value(nullptr) : json::value(json_text(reason_name(row)));
    to["psn"] = has_psn(row) ? json::value(row.psn) : json::value(nullptr);
    to["ev"] = row.ev == 0 ? json::value(nullptr) : json::value(row.ev);
    const std::string_view name = value_name(row);
    if (name == "state") {
        to["state"] = json_text(state_name(row));
        to["state_number"] = row.value;
    } else if (name == "answer") { // a bitmap has more bits than numbers of JSON in some readers
        to["answer"] = json_text(fmt::format("{:#x}", row.value));
    } else if (!name.empty()) {
        to[{name.data(), name.size()}] = row.value;
    }
}

std::string first_line(const trace_source &from)
{
    return json::serialize(json::object{{"recording", json_text(recording_mark)},
                                        {"instance", json_text(from.instance)},
                                        {"host", json_text(from.host)},
                                        {"to_real_ns", from.to_real_ns}});
}

std::string line_of_row(const mrc_trace_row &row, const trace_source &from)
{
    json::object line{{"number", row.number},
                      {"time_ns", row.time_ns},
                      {"real_time_ns", row.time_ns + static_cast<std::uint64_t>(from.to_real_ns)},
                      {"event", json_text(kind_name(row))},
                      {"qpn", row.qpn == 0 ? json::value(nullptr) : json::value(row.qpn)},
                      {"peer_qpn", row.qpn == 0 ? json::value(nullptr) : json::value(row.peer_qpn)}};
    add_event_fields(line, row);
    return json::serialize(line);
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

std::string words_of(const mrc_trace_row &row)
{
    std::string words = fmt::format("{:7}{:13}", kind_name(row), row.reason == 0 ? "" : reason_name(row));
    if (row.qpn != 0)
        words += fmt::format(" qp {} of {}", row.qpn, row.peer_qpn);
    if (has_psn(row))
        words += fmt::format("  psn {:#x}", row.psn);
    if (row.ev != 0)
        words += fmt::format("  ev {:#x}", row.ev);
    if (const std::string value = value_words(row); !value.empty())
        words += "  " + value;
    return words;
}

} // namespace mrc::ctl
