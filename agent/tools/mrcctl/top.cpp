// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/top.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "tools/mrcctl/events.h"
#include "tools/mrcctl/path_rates.h"
#include "tools/mrcctl/terminal.h"
#include "tools/mrcctl/text.h"
#include "tools/mrcctl/timed_lease.h"
#include "tools/mrcctl/views.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr std::size_t paths_shown = 4;
constexpr double first_table_s = 1; // at most, on a terminal

struct top_sample {
    sample all;
    path_sample paths;
};

top_sample take_top_sample(const host_maps &maps)
{
    return {.all = take_sample(maps), .paths = take_path_sample(maps, {})};
}

// Keys that choose an order, as the help has them.
struct order_key {
    char key;
    qp_order order;
    std::string_view what;
};
constexpr order_key order_keys[] = {{'b', qp_order::rate, "the busiest"},
                                    {'l', qp_order::loss, "what loses most"},
                                    {'r', qp_order::rtt, "the longest round trip"},
                                    {'n', qp_order::qpn, "the least number"}};

std::string keys_text(qp_order by)
{
    std::string text = "keys: which queue pairs come first:";
    for (const order_key &each : order_keys)
        text += fmt::format(" {} {}{};", each.key, each.what, each.order == by ? " (now)" : "");
    return text + " h hides this, q ends\n";
}

class top_run
{
public:
    top_run(const host_maps &maps, const top_options &options)
        : maps_{maps}, options_{options}, before_{take_top_sample(maps)}
    {
    }

    void run()
    {
        double wait_s = screen_.is_interactive() && options_.iterations == 0
                            ? std::min(options_.interval_s, first_table_s)
                            : options_.interval_s;
        for (std::uint32_t shown = 0; options_.iterations == 0 || shown < options_.iterations; ++shown) {
            if (!wait(wait_s))
                return;
            wait_s = options_.interval_s;
            after_ = take_top_sample(maps_);
            show();
            before_ = std::move(after_);
        }
    }

private:
    // False when it is to end. Keys and another size of the screen show the same table again at once.
    bool wait(double seconds)
    {
        const std::uint64_t end = lease_clock() + static_cast<std::uint64_t>(seconds * 1e9);
        for (;;) {
            const std::uint64_t now = lease_clock();
            const wake woken = screen_.wait(now < end ? static_cast<double>(end - now) * 1e-9 : 0);
            if (woken.why == wake::reason::time)
                return true;
            if (woken.why == wake::reason::end || woken.key == 'q' || woken.key == 'Q')
                return false;
            follow(woken.key);
            screen_.show(text());
        }
    }

    void follow(char key)
    {
        if (key == 'h' || key == '?')
            has_help_ = !has_help_;
        if (const auto *const chosen = std::ranges::find(order_keys, key, &order_key::key);
            chosen != std::end(order_keys)) {
            options_.order = chosen->order;
            sort_qps(view_, options_.order);
        }
    }

    void show()
    {
        json::object status = status_of(maps_);
        view_ = {{"instance", status.at("instance")}, {"daemon", status.at("daemon")}};
        for (auto &[name, value] : rates_view(before_.all, after_.all, options_.order))
            view_[name] = value;
        for (json::value &plane : view_.at("planes").as_array())
            plane.as_object()["paths"] =
                count_paths(maps_, {.range = {}, .plane = plane.at("plane").to_number<std::uint32_t>(), .state = {}});
        view_["worst_paths"] =
            worst_paths(path_rates(before_.paths, after_.paths, event_reader{maps_.of()}.take()), paths_shown);
        screen_.show(options_.json ? json::serialize(view_) + '\n' : text());
    }

    [[nodiscard]] std::string text() const
    {
        if (view_.empty())
            return "";
        const std::string help = has_help_ ? keys_text(options_.order) : "";
        const std::size_t lines = screen_.lines();
        return help + top_text(view_, lines > 1 && has_help_ ? lines - 1 : lines);
    }

    const host_maps &maps_;
    top_options options_;
    const terminal screen_;
    top_sample before_;
    top_sample after_;
    json::object view_; // that is shown
    bool has_help_ = false;
};

} // namespace

void run_top(const host_maps &maps, const top_options &options)
{
    top_run{maps, options}.run();
}

} // namespace mrc::ctl
