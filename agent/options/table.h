// SPDX-License-Identifier: Apache-2.0
// The options of a program, declared once as data: tables of keys, each with its kind, its default and the member that
// takes it. read.h reads files by them, print.h prints the configuration in force; tests compare documents with them.
//
//     const auto port = table_of<port_options>{}
//                           .add("device", device_name{}, &port_options::device, required)
//                           .add("queues", automatic{whole{1, 64}}, &port_options::queues);
//     const auto file = table_of<config>{}.add_rows("port", port, &config::ports, {.one_per = "port of the host"});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "options/value.h"

namespace mrc::options
{

// Rows are the structs that tables are read into; behind void * in what does not know them.
struct option {
    std::string_view key;
    std::string allowed; // "1 to 256", in the words of the error messages and documents
    bool is_required;
    std::string default_text;                            // as TOML, or in words where it follows from other options
    std::function<bool(void *row, const value &)> read;  // false: not allowed
    std::function<std::string(const void *row)> as_toml; // empty: no program prints it
    std::function<void(void *to, const void *from)> copy;
};

struct presence {
    bool is_required = false;
    std::string_view default_note; // instead of the default value's text
};
inline constexpr presence required{.is_required = true, .default_note = {}};

class table;

// A table inside a table: [key], or any number of [[key]].
struct part {
    std::string_view key;
    std::shared_ptr<const table> content;
    bool is_repeated = false;
    bool is_optional = false;   // without it, nothing in it is required
    std::string_view one_per{}; // what each [[key]] stands for
    std::size_t least = 0;      // [[key]]
    std::size_t most = SIZE_MAX;
    bool begins_as_parent = false; // its rows begin as what the parent's other keys say, so these are read first
    std::function<void(void *parent)> clear{};
    std::function<void *(void *parent)> add{}; // the row to read into
    std::function<std::size_t(const void *parent)> count{};
    std::function<const void *(const void *parent, std::size_t row)> row_at{};

    [[nodiscard]] const void *at(const void *parent, std::size_t row) const { return row_at(parent, row); }
    [[nodiscard]] void *at(void *parent, std::size_t row) const { return const_cast<void *>(row_at(parent, row)); }
    // "fabric", "port[1]"
    [[nodiscard]] std::string name(std::size_t row) const
    {
        return std::string{key} + (is_repeated ? "[" + std::to_string(row) + "]" : "");
    }
};

class table
{
public:
    [[nodiscard]] std::span<const option> options() const { return options_; }
    [[nodiscard]] std::span<const part> parts() const { return parts_; }

protected:
    std::vector<option> options_;
    std::vector<part> parts_;
};

// How often [[key]] may stand.
struct repetition {
    std::string_view one_per{};
    std::size_t least = 0;
    std::size_t most = SIZE_MAX;
};

template <class T>
struct without_optional {
    using type = T;
};
template <class T>
struct without_optional<std::optional<T>> {
    using type = T;
};

// Members are pointers to them, or functions from a row to a reference, const or not.
template <class Row>
class table_of : public table
{
public:
    template <class Kind, class Member>
    table_of &add(std::string_view key, const Kind &kind, Member member, presence given = {})
    {
        option added{
            .key = key,
            .allowed = kind.allowed(),
            .is_required = given.is_required,
            .default_text = std::string{given.default_note},
            .read = [kind, member](void *row,
                                   const value &from) { return kind.read(from, std::invoke(member, of(row))); },
            .as_toml = {},
            .copy = [member](void *to,
                             const void *from) { std::invoke(member, of(to)) = std::invoke(member, of(from)); }};
        if constexpr (requires(const Row &row) { kind.write(std::invoke(member, row)); }) {
            added.as_toml = [kind, member](const void *row) { return kind.write(std::invoke(member, of(row))); };
            if (!given.is_required && given.default_note.empty())
                added.default_text = kind.write(std::invoke(member, std::as_const(defaults())));
        }
        options_.push_back(std::move(added));
        return *this;
    }

    // [key], of a struct or of an optional one.
    template <class Inner, class Member>
    table_of &add_table(std::string_view key, table_of<Inner> inner, Member member)
    {
        using held = std::remove_cvref_t<decltype(std::invoke(member, std::declval<Row &>()))>;
        constexpr bool is_optional = !std::is_same_v<typename without_optional<held>::type, held>;
        part added{.key = key, .content = std::make_shared<const table>(std::move(inner)), .is_optional = is_optional};
        if constexpr (is_optional) {
            added.add = [member](void *parent) -> void * { return &std::invoke(member, of(parent)).emplace(); };
            added.count = [member](const void *parent) {
                return std::size_t{std::invoke(member, of(parent)).has_value()};
            };
            added.row_at = [member](const void *parent, std::size_t) -> const void * {
                return &*std::invoke(member, of(parent));
            };
        } else {
            added.add = [member](void *parent) -> void * { return &std::invoke(member, of(parent)); };
            added.count = [](const void *) { return std::size_t{1}; };
            added.row_at = [member](const void *parent, std::size_t) -> const void * {
                return &std::invoke(member, of(parent));
            };
        }
        parts_.push_back(std::move(added));
        return *this;
    }

    // [[key]], of a vector of structs. Those of a file take the place of all that were there. `first` makes a row of
    // the parent's, as which it begins; without it a row begins with its defaults.
    template <class Inner, class Member, class First = std::nullptr_t>
    table_of &add_rows(std::string_view key, table_of<Inner> inner, Member member, repetition allowed,
                       [[maybe_unused]] First first = nullptr)
    {
        part added{.key = key,
                   .content = std::make_shared<const table>(std::move(inner)),
                   .is_repeated = true,
                   .one_per = allowed.one_per,
                   .least = allowed.least,
                   .most = allowed.most,
                   .begins_as_parent = !std::is_null_pointer_v<First>};
        added.clear = [member](void *parent) { std::invoke(member, of(parent)).clear(); };
        if constexpr (std::is_null_pointer_v<First>)
            added.add = [member](void *parent) -> void * { return &std::invoke(member, of(parent)).emplace_back(); };
        else
            added.add = [member, first](void *parent) -> void * {
                return &std::invoke(member, of(parent)).emplace_back(std::invoke(first, of(parent)));
            };
        added.count = [member](const void *parent) { return std::invoke(member, of(parent)).size(); };
        added.row_at = [member](const void *parent, std::size_t row) -> const void * {
            return &std::invoke(member, of(parent)).at(row);
        };
        parts_.push_back(std::move(added));
        return *this;
    }

private:
    static Row &of(void *row) { return *static_cast<Row *>(row); }
    static const Row &of(const void *row) { return *static_cast<const Row *>(row); }
    static const Row &defaults()
    {
        static const Row row{};
        return row;
    }
};

} // namespace mrc::options
