// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/exposition.h"

#include <iterator>
#include <string_view>

#include <boost/json/object.hpp>
#include <fmt/format.h>

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

std::string_view text_view(const json::value &of)
{
    const json::string &text = of.as_string();
    return {text.data(), text.size()};
}

// Of a label's value; help texts have no quotation marks.
std::string escaped(std::string_view value)
{
    std::string result;
    for (const char letter : value)
        switch (letter) {
        case '\\':
            result += "\\\\";
            break;
        case '"':
            result += "\\\"";
            break;
        case '\n':
            result += "\\n";
            break;
        default:
            result += letter;
        }
    return result;
}

std::string number_text(const json::value &value)
{
    if (value.is_double())
        return fmt::format("{}", value.get_double());
    return value.is_uint64() ? fmt::format("{}", value.get_uint64()) : fmt::format("{}", value.as_int64());
}

std::string sample_text(std::string_view name, const json::object &sample)
{
    std::string labels;
    for (const auto &[label, value] : sample.at("labels").as_object())
        fmt::format_to(std::back_inserter(labels), "{}{}=\"{}\"", labels.empty() ? "" : ",",
                       std::string_view{label.data(), label.size()}, escaped(text_view(value)));
    return fmt::format("{}{{{}}} {}\n", name, labels, number_text(sample.at("value")));
}

} // namespace

std::string exposition_of(const json::array &families)
{
    std::string result;
    for (const json::value &family : families) {
        const std::string_view name = text_view(family.at("name"));
        const json::array &samples = family.at("samples").as_array();
        if (samples.empty())
            continue;
        fmt::format_to(std::back_inserter(result), "# HELP {0} {1}\n# TYPE {0} {2}\n", name,
                       text_view(family.at("help")), text_view(family.at("type")));
        for (const json::value &sample : samples)
            result += sample_text(name, sample.as_object());
    }
    return result;
}

} // namespace mrc::ctl
