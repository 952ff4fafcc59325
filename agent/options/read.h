// SPDX-License-Identifier: Apache-2.0
// Reads a TOML file by a program's tables of options. The first error in the file is answered: file, line and column,
// the key, what was found, and what is allowed or the nearest spelling of what is known.
#pragma once

#include <string>
#include <string_view>

#include "options/origins.h"
#include "options/table.h"

namespace mrc::options
{

[[nodiscard]] result<std::string> read_file(const std::string &path);

[[nodiscard]] result<origins> read_text(std::string_view text, const std::string &file, const table &schema, void *to);

// `file` stands for the text in errors. What the text does not say stays as it is in `to`.
template <class Row>
[[nodiscard]] result<origins> read(std::string_view text, const std::string &file, const table_of<Row> &schema, Row &to)
{
    return read_text(text, file, schema, &to);
}

} // namespace mrc::options
