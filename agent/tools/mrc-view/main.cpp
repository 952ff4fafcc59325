// SPDX-License-Identifier: Apache-2.0
// mrc-view: a page to look at. See docs/mrc-view.8.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>

#include "tools/http/endpoint.h"
#include "tools/http/server.h"
#include "tools/mrc-view/lab/command.h"
#include "tools/mrc-view/lab/describe.h"
#include "tools/mrc-view/lab/follow.h"
#include "tools/mrc-view/model.h"
#include "tools/mrc-view/options.h"
#include "tools/mrc-view/page_files.h"
#include "tools/mrc-view/service.h"
#include "tools/mrcctl/instance.h"

namespace
{

using namespace mrc::view;
namespace asio = boost::asio;
namespace http = mrc::tools::http;

// An order to the lab is a line; a page takes a handful of connections, and one that stalls keeps its place for 5 s.
constexpr http::server_limits limits{.body_bytes = 1024, .connections = 32};

asio::awaitable<void> look_for_ever(view_model &model)
{
    asio::steady_timer timer{co_await asio::this_coro::executor};
    while (true) {
        timer.expires_after(look_period);
        co_await timer.async_wait(asio::use_awaitable);
        model.look();
    }
}

void start(asio::io_context &context, asio::awaitable<void> task)
{
    asio::co_spawn(context, std::move(task), [](const std::exception_ptr &error) {
        if (error)
            std::rethrow_exception(error);
    });
}

view_model model_of(const view_options &wanted, const std::filesystem::path &mrc_lab)
{
    if (!wanted.is_lab) {
        const char *environment = std::getenv("MRC_INSTANCE");
        const auto chosen = mrc::ctl::choose_instance(wanted.instance, environment == nullptr ? "" : environment);
        (void)mrc::ctl::host_maps{chosen}; // says what is wrong with them
        return view_model{chosen.name};
    }
    asio::io_context context{1};
    auto described = asio::co_spawn(context, describe_lab(mrc_lab, wanted.lab), asio::use_future);
    context.run();
    return view_model{described.get()};
}

int show(const view_options &wanted)
{
    const std::filesystem::path mrc_lab = find_mrc_lab();
    view_model model = model_of(wanted, mrc_lab);
    view_service service{model, load_page(find_page()), load_chart_library(), mrc_lab};
    model.look();
    asio::io_context context{1};
    const auto at = http::serve(context, *http::parse_endpoint(wanted.listen), limits,
                                [&service](http::request asked, asio::ip::tcp::endpoint from) {
                                    return service.answer(std::move(asked), std::move(from));
                                });
    service.set_address(at);
    for (const std::string &problem : model.problems())
        fmt::print(stderr, "mrc-view: {}\n", problem);
    fmt::print("mrc-view: http://{}/\n", http::to_text(at));
    std::fflush(stdout);
    start(context, look_for_ever(model));
    if (wanted.is_lab)
        start(context, follow_lab(context, model, mrc_lab));
    http::run_until_signalled(context);
    return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char **argv)
{
    view_options wanted;
    if (const auto status = parse_options(argc, argv, wanted))
        return *status;
    try {
        return show(wanted);
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrc-view: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
