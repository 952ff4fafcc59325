// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/lab/follow.h"

#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "tools/mrc-view/lab/describe.h"

namespace mrc::view
{

namespace
{

namespace asio = boost::asio;

// When the lab's state was written last; nullopt: the lab is gone.
std::optional<std::filesystem::file_time_type> time_of(const lab_description &lab)
{
    std::error_code error;
    const auto time = std::filesystem::last_write_time(std::filesystem::path{lab.directory} / "state.json", error);
    return error ? std::nullopt : std::optional{time};
}

asio::awaitable<void> describe_again(view_model &model, std::filesystem::path mrc_lab, std::string prefix)
{
    std::string problem;
    try {
        lab_description found = co_await describe_lab(mrc_lab, prefix);
        model.set_lab(std::move(found));
    } catch (const std::exception &error) {
        problem = error.what();
    }
    model.set_lab_problem(problem);
}

} // namespace

asio::awaitable<void> follow_lab(asio::io_context &context, view_model &model, std::filesystem::path mrc_lab)
{
    const lab_description *const lab = model.lab();
    if (lab == nullptr)
        co_return;
    asio::steady_timer timer{context};
    auto seen = time_of(*lab);
    while (true) {
        timer.expires_after(look_period);
        co_await timer.async_wait(asio::use_awaitable);
        const auto now = time_of(*lab);
        if (now == seen)
            continue;
        seen = now;
        if (now)
            co_await describe_again(model, mrc_lab, lab->prefix);
        else
            model.set_lab_problem(fmt::format("lab {} is gone", lab->prefix));
    }
}

} // namespace mrc::view
