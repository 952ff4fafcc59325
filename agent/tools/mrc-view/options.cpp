// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/options.h"

#include <cstdlib>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/completion/completion.h"
#include "tools/http/endpoint.h"
#include "tools/usage.h"

namespace mrc::view
{

namespace
{

} // namespace

std::optional<int> parse_options(int argc, char **argv, view_options &to)
{
    CLI::App app{
        "Serves a page that shows what an mrcd does, or the hosts of a whole lab: links by loss and load, time "
        "lines, events, and who uses a link. Reads pinned maps only.",
        "mrc-view"};
    CLI::Option *instance =
        app.add_option("--instance", to.instance, "Name of the mrcd; default: MRC_INSTANCE, or the only one")
            ->type_name("NAME");
    CLI::Option *lab = app.add_option("--lab", to.lab,
                                      "All hosts of this lab of mrc-lab, with buttons that cut, restore and impair; "
                                      "default: MRC_LAB, or the only one")
                           ->type_name("NAME")
                           ->expected(0, 1)
                           ->excludes(instance);
    app.add_option("--listen", to.listen, "Serve at [ADDR:]PORT, of the loopback without ADDR; 0: any port")
        ->type_name("[ADDR:]PORT")
        ->capture_default_str()
        ->check([](const std::string &text) {
            const auto parsed = tools::http::parse_endpoint(text);
            return parsed ? std::string{} : parsed.error();
        });
    app.set_version_flag("--version", "mrc-view " MRC_VERSION);
    if (const auto words = completion::answer(app, argc, argv)) {
        fmt::print("{}", *words);
        return EXIT_SUCCESS;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return tools::end_of(app, error, "mrc-view");
    }
    to.is_lab = lab->count() != 0;
    return std::nullopt;
}

} // namespace mrc::view
