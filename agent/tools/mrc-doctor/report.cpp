// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "tools/table/table.h"

namespace mrc::doctor
{

namespace
{

namespace json = boost::json;

std::string_view name_of(scope where)
{
    switch (where) {
    case scope::host:
        return "host";
    case scope::scratch:
        return "scratch";
    case scope::port:
        return "port";
    case scope::peer:
        return "peer";
    }
    return {};
}

std::string_view name_of(state result)
{
    switch (result) {
    case state::works:
        return "works";
    case state::slower:
        return "slower";
    case state::broken:
        return "broken";
    case state::untried:
        return "untried";
    }
    return {};
}

bool is_trouble(const finding &of)
{
    return of.result == state::slower || of.result == state::broken;
}

std::string names_of(const report &of, state result)
{
    std::string names;
    for (const finding &entry : of.findings)
        if (entry.result == result)
            fmt::format_to(std::back_inserter(names), "{}{} ({})", names.empty() ? "" : ", ", entry.probe, entry.on);
    return names;
}

std::string verdict_text(const report &of)
{
    const std::string untried = names_of(of, state::untried);
    const std::string runs = untried.empty() ? "mrcd will run" : "mrcd will run, as far as could be tried";
    const std::string rest = untried.empty() ? "\n" : fmt::format("; not tried: {}\n", untried);
    switch (verdict_of(of)) {
    case verdict::runs:
        return runs + rest;
    case verdict::runs_slower:
        return fmt::format("{}, slower or with less for lack of: {}{}", runs, names_of(of, state::slower), rest);
    case verdict::does_not_run:
        return fmt::format("mrcd will not run: {}\n", names_of(of, state::broken));
    }
    return {};
}

std::string trouble_text(const finding &of)
{
    return fmt::format("\n{}: {} ({})\n  costs    {}\n  remedy   {}\n", name_of(of.result), of.probe, of.on, of.cost,
                       of.remedy.empty() ? "nothing that is a command" : of.remedy);
}

json::array rows_of(const std::vector<examined_port> &ports)
{
    json::array rows;
    for (const examined_port &of : ports)
        rows.push_back(json::object{{"port", of.device}, {"driver", of.driver}});
    return rows;
}

json::array rows_of(const std::vector<chosen_modes> &modes)
{
    json::array rows;
    for (const chosen_modes &of : modes)
        rows.push_back(json::object{{"port", of.port},
                                    {"xdp", of.xdp},
                                    {"transmit", of.transmit},
                                    {"af_xdp", of.af_xdp},
                                    {"buffers", of.buffers},
                                    {"reason", of.reason}});
    return rows;
}

constexpr ctl::column finding_columns[] = {{"PROBE", "probe"}, {"ON", "on"}, {"STATE", "state"}, {"FOUND", "found"}};

std::string troubles_text(const std::vector<finding> &findings)
{
    std::string text;
    for (const finding &entry : findings)
        if (is_trouble(entry))
            text += trouble_text(entry);
    return text;
}

} // namespace

json::array findings_json(const std::vector<finding> &findings)
{
    json::array rows;
    for (const finding &of : findings)
        rows.push_back(json::object{{"scope", name_of(of.where)},
                                    {"probe", of.probe},
                                    {"on", of.on},
                                    {"state", name_of(of.result)},
                                    {"found", of.found},
                                    {"cost", of.cost},
                                    {"remedy", of.remedy}});
    return rows;
}

std::string findings_text(const std::vector<finding> &findings)
{
    return ctl::to_table(finding_columns, findings_json(findings)) + troubles_text(findings);
}

finding judge(scope where, std::string probe, std::string on, const kernel::probes::attempt &result, lack otherwise)
{
    finding made{.where = where,
                 .probe = std::move(probe),
                 .on = std::move(on),
                 .found = result.text(),
                 .cost = {},
                 .remedy = {}};
    if (result.worked())
        made.result = state::works;
    if (result.refused()) {
        made.result = otherwise.severity;
        made.cost = std::move(otherwise.cost);
        made.remedy = std::move(otherwise.remedy);
    }
    return made;
}

std::string by_hand(std::string_view file, std::string_view table, std::string_view setting)
{
    return fmt::format("# in {}, [{}]: {}", file.empty() ? "mrcd's configuration" : file, table, setting);
}

verdict verdict_of(const report &of)
{
    const auto has = [&](state result) { return std::ranges::count(of.findings, result, &finding::result) != 0; };
    if (has(state::broken))
        return verdict::does_not_run;
    return has(state::slower) ? verdict::runs_slower : verdict::runs;
}

int exit_status(verdict of)
{
    return of == verdict::does_not_run ? 1 : 0;
}

std::string to_text(const report &of)
{
    static constexpr ctl::column modes[] = {{"PORT", "port"},     {"XDP", "xdp"},         {"TRANSMIT", "transmit"},
                                            {"AF_XDP", "af_xdp"}, {"BUFFERS", "buffers"}, {"REASON", "reason"}};
    std::string text = fmt::format("kernel {} ({})\n\n", of.kernel, of.machine);
    text += ctl::to_table(finding_columns, findings_json(of.findings));
    if (!of.modes.empty())
        text += "\nmrcd would use\n" + ctl::to_table(modes, rows_of(of.modes));
    return text + troubles_text(of.findings) + '\n' + verdict_text(of);
}

json::object to_json(const report &of)
{
    const verdict judged = verdict_of(of);
    return {{"kernel", of.kernel},
            {"machine", of.machine},
            {"runs", judged != verdict::does_not_run},
            {"slower", judged == verdict::runs_slower},
            {"findings", findings_json(of.findings)},
            {"ports", rows_of(of.ports)},
            {"modes", rows_of(of.modes)}};
}

} // namespace mrc::doctor
