// SPDX-License-Identifier: Apache-2.0
#include "service/control/settings_text.h"

#include <charconv>

#include <boost/crc.hpp>
#include <fmt/format.h>

#include "mrc/abi/maps.h"
#include "options/kinds.h"
#include "options/print.h"
#include "options/read.h"

namespace mrc::service::control
{

namespace
{

using namespace options;

constexpr unsigned version = 1;
constexpr std::string_view checksum_mark = "# crc32 ";
constexpr std::int64_t largest_32 = UINT32_MAX;

constexpr auto states = one_of<session::profile_state>(
    {{"offline", session::profile_state::offline}, {"online", session::profile_state::online}});
constexpr auto format_modes = one_of<session::ev_format_mode>({{"stev", session::ev_format_mode::stev},
                                                               {"srv6", session::ev_format_mode::srv6},
                                                               {"udp", session::ev_format_mode::udp}});
constexpr auto ev_modes = one_of<session::ev_mode>({{"auto", session::ev_mode::automatic},
                                                    {"listed", session::ev_mode::listed},
                                                    {"generated", session::ev_mode::generated}});
constexpr auto algorithms = one_of<bool>({{session::nscc_algorithm, true}, {"none", false}});
constexpr whole number{0, largest_32};
constexpr real constant{0, 1e9};

template <class T>
bool read_number(std::string_view from, T &to, int base)
{
    const auto [end, error] = std::from_chars(from.begin(), from.end(), to, base);
    return error == std::errc{} && end == from.end();
}

// 64 bits, of which TOML's integers have one too few.
struct profile_number {
    [[nodiscard]] static std::string allowed() { return "a number of 64 bits in quotes"; }
    [[nodiscard]] static bool read(const value &from, std::uint64_t &to)
    {
        return from.text() != nullptr && read_number(*from.text(), to, 10);
    }
    [[nodiscard]] static std::string write(std::uint64_t from) { return toml_string(std::to_string(from)); }
};

struct ev_field {
    static constexpr std::uint32_t mrc_ev_field::*columns[] = {
        &mrc_ev_field::width, &mrc_ev_field::init, &mrc_ev_field::min, &mrc_ev_field::max, &mrc_ev_field::mask};

    [[nodiscard]] static std::string allowed() { return "[width, init, min, max, mask]"; }
    [[nodiscard]] static bool read(const value &from, mrc_ev_field &to)
    {
        const auto *row = from.elements();
        if (row == nullptr || row->size() != std::size(columns))
            return false;
        for (std::size_t i = 0; i < row->size(); ++i)
            if (!number.read(row->at(i), to.*columns[i]))
                return false;
        return true;
    }
    [[nodiscard]] static std::string write(const mrc_ev_field &from)
    {
        return fmt::format("[{}, {}, {}, {}, {}]", from.width, from.init, from.min, from.max, from.mask);
    }
};

// "00000801@2", or "00000801@2 denied": the bits without the zero bytes at the end, and the port.
struct entropy_value {
    static constexpr std::string_view denial = " denied";

    [[nodiscard]] static std::string allowed() { return "\"BITS@PORT\" or \"BITS@PORT denied\", bits in hexadecimal"; }
    [[nodiscard]] static bool read(const value &from, stored_ev &to)
    {
        if (from.text() == nullptr)
            return false;
        std::string_view text = *from.text();
        to = {.value = {}, .denied = text.ends_with(denial)};
        if (to.denied)
            text.remove_suffix(denial.size());
        const std::size_t at = text.find('@');
        if (at == std::string_view::npos || at % 2 != 0 || at / 2 > to.value.bits.size())
            return false;
        for (std::size_t byte = 0; byte < at / 2; ++byte)
            if (!read_number(text.substr(2 * byte, 2), to.value.bits.at(byte), 16))
                return false;
        return read_number(text.substr(at + 1), to.value.port, 10);
    }
    [[nodiscard]] static std::string write(const stored_ev &from)
    {
        std::size_t used = from.value.bits.size();
        while (used != 0 && from.value.bits.at(used - 1) == 0)
            --used;
        std::string text;
        for (std::size_t byte = 0; byte < used; ++byte)
            text += fmt::format("{:02x}", from.value.bits.at(byte));
        return toml_string(fmt::format("{}@{}{}", text, from.value.port, from.denied ? denial : ""));
    }
};

table_of<stored_ev_format> format_table()
{
    using row = stored_ev_format;
    return table_of<row>{}
        .add("id", profile_number{}, &row::id, required)
        .add("state", states, &row::state, required)
        .add("mode", format_modes, &row::mode, required)
        .add("widths", list_of{whole{0, UINT8_MAX}, "numbers"}, &row::widths, required);
}

table_of<stored_ev_profile> ev_profile_table()
{
    using row = stored_ev_profile;
    return table_of<row>{}
        .add("id", profile_number{}, &row::id, required)
        .add("state", states, &row::state, required)
        .add("mode", ev_modes, &row::mode, required)
        .add("format", profile_number{}, &row::format, required)
        .add("count", number, &row::count, required)
        .add("min_active", automatic{number, "unset"}, &row::min_active, required)
        .add("event_mask", automatic{number, "unset"}, &row::event_mask, required)
        .add("fields", automatic{list_of{ev_field{}, "fields"}, "of the format"}, &row::fields, required)
        .add("defined_elsewhere", flag{}, &row::is_defined_elsewhere, required)
        .add("evs", list_of{entropy_value{}, "EVs"}, &row::evs, required);
}

table_of<stored_cc_profile> cc_profile_table()
{
    using row = stored_cc_profile;
    using values = session::nscc_values;
    const auto of = [](auto values::*member) { return [member](auto &in) -> auto & { return in.config.*member; }; };
    return table_of<row>{}
        .add("id", profile_number{}, &row::id, required)
        .add("state", states, &row::state, required)
        .add("algorithm", algorithms, &row::nscc, required)
        .add("configured", flag{}, &row::configured, required)
        .add("disable_qa", whole{0, UINT8_MAX}, of(&values::disable_qa), required)
        .add("adjust_bytes_threshold", number, of(&values::adjust_bytes_threshold), required)
        .add("adjust_period_threshold_ns", number, of(&values::adjust_period_threshold), required)
        .add("base_rtt_ns", number, of(&values::base_rtt), required)
        .add("eta", constant, of(&values::eta), required)
        .add("fi", constant, of(&values::fi), required)
        .add("fi_scale", constant, of(&values::fi_scale), required)
        .add("gamma", constant, of(&values::gamma), required)
        .add("max_md_jump", constant, of(&values::max_md_jump), required)
        .add("max_cwnd", number, of(&values::max_cwnd), required)
        .add("qa_gate", whole{0, UINT8_MAX}, of(&values::qa_gate), required)
        .add("qa_threshold_ns", number, of(&values::qa_threshold), required)
        .add("target_delay_ns", number, of(&values::target_delay), required);
}

struct whole_file {
    unsigned version = control::version;
    stored_settings settings;
};

const table_of<whole_file> &file_table()
{
    const auto of = [](auto stored_settings::*member) {
        return [member](auto &in) -> auto & { return in.settings.*member; };
    };
    static const auto all =
        table_of<whole_file>{}
            .add("version", whole{version, version}, &whole_file::version, required)
            .add("disabled_ports", list_of{whole{1, MRC_MAX_PORTS}, "numbers"}, of(&stored_settings::disabled_ports),
                 required)
            .add_rows("ev_format", format_table(), of(&stored_settings::ev_formats), {.one_per = "EV format"})
            .add_rows("ev_profile", ev_profile_table(), of(&stored_settings::ev_profiles), {.one_per = "EV profile"})
            .add_rows("cc_profile", cc_profile_table(), of(&stored_settings::cc_profiles), {.one_per = "CC profile"});
    return all;
}

std::string checksum_of(std::string_view text)
{
    boost::crc_32_type crc;
    crc.process_bytes(text.data(), text.size());
    return fmt::format("{}{:08x}\n", checksum_mark, crc.checksum());
}

} // namespace

std::string to_text(const stored_settings &settings)
{
    const whole_file file{.settings = settings};
    const std::string text =
        "# What a controller has set; written by mrcd(8), and refused when anybody else has changed it.\n" +
        print(file_table(), &file);
    return text + checksum_of(text);
}

std::expected<stored_settings, std::string> parse_settings(std::string_view text, const std::string &file)
{
    const std::size_t end = text.rfind(checksum_mark);
    if (end == std::string_view::npos || text.substr(end) != checksum_of(text.substr(0, end)))
        return std::unexpected{file + ": its checksum is not that of what it says"};
    whole_file read_from;
    if (const auto done = read(text.substr(0, end), file, file_table(), read_from); !done)
        return std::unexpected{done.error().text()};
    return std::move(read_from.settings);
}

} // namespace mrc::service::control
