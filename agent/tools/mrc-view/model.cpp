// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/model.h"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "kernel/monotonic_clock.h"
#include "tools/mrc-view/host_view.h"
#include "tools/mrc-view/link_use.h"
#include "tools/mrc-view/nodes.h"
#include "tools/mrc-view/plane_figures.h"
#include "tools/mrcctl/json_text.h"

namespace mrc::view
{

namespace
{

namespace json = boost::json;

const peer_names no_names;
const neighbour_table no_neighbours;

const peer_names &names_of(const std::optional<lab_description> &lab)
{
    return lab ? lab->names : no_names;
}

const neighbour_table &neighbours_of(const std::optional<lab_description> &lab)
{
    return lab ? lab->neighbours : no_neighbours;
}

std::uint64_t now_ns()
{
    return static_cast<std::uint64_t>(kernel::monotonic_now().time_since_epoch().count());
}

// A host's part of a point of the time lines: a list by plane of each figure.
json::object point_of(const host_look &host)
{
    json::array tx;
    json::array rx;
    json::array again;
    json::array rtt;
    const plane_table planes = plane_figures_of(*host.before, *host.now);
    std::uint32_t end = MRC_MAX_PORTS; // behind the last plane with a port
    while (end > 0 && host.now->counters.ports[end - 1].device[0] == '\0')
        --end;
    for (std::uint32_t plane = 0; plane < end; ++plane) {
        tx.push_back(planes[plane].tx_goodput_bits_per_s);
        rx.push_back(planes[plane].rx_goodput_bits_per_s);
        again.push_back(planes[plane].retransmits_per_s);
        rtt.push_back(planes[plane].rtt_ns > 0 ? json::value(planes[plane].rtt_ns) : json::value(nullptr));
    }
    return {{"tx_bits_per_s", std::move(tx)},
            {"rx_bits_per_s", std::move(rx)},
            {"retransmits_per_s", std::move(again)},
            {"rtt_ns", std::move(rtt)}};
}

} // namespace

view_model::view_model(const std::string &instance)
{
    hosts_.emplace_back(instance, instance);
}

view_model::view_model(lab_description lab) : lab_{std::move(lab)}
{
    for (const lab_host &host : lab_->hosts)
        hosts_.emplace_back(host.name, host.instance);
}

void view_model::set_lab(lab_description lab)
{
    lab_ = std::move(lab);
    lab_problem_.clear();
}

void view_model::look()
{
    for (host_watch &host : hosts_)
        host.look();
    links_.clear();
    if (lab_)
        for (const lab_link &link : lab_->links)
            links_[link.key];
    for (const host_look &host : looks())
        add_links(links_, host, names_of(lab_), neighbours_of(lab_));
    add_point();
    add_events();
    ++number_;
    make_snapshot();
}

std::vector<std::string> view_model::problems() const
{
    std::vector<std::string> found;
    for (const host_watch &host : hosts_)
        if (!host.problem().empty())
            found.push_back(host.problem());
    return found;
}

std::vector<host_look> view_model::looks() const
{
    std::vector<host_look> all;
    for (const host_watch &host : hosts_)
        if (host.has_rows())
            all.push_back(host.latest());
    return all;
}

json::array view_model::hosts_view() const
{
    json::array all;
    for (const host_watch &host : hosts_) {
        json::object view{{"name", ctl::json_text(host.name())}, {"instance", ctl::json_text(host.instance())}};
        if (host.has_rows())
            view = host_view(host.latest(), host.instance(), names_of(lab_));
        view["state"] = ctl::json_text(host.state());
        view["problem"] = host.problem().empty() ? json::value(nullptr) : json::value(ctl::json_text(host.problem()));
        all.push_back(std::move(view));
    }
    return all;
}

void view_model::add_point()
{
    json::object hosts;
    for (const host_look &host : looks())
        hosts[ctl::json_text(host.place.name)] = point_of(host);
    points_.add({{"time_ns", now_ns()}, {"hosts", std::move(hosts)}});
}

void view_model::add_events()
{
    for (host_watch &host : hosts_)
        for (json::object &event : host.take_events())
            events_.add(std::move(event));
}

void view_model::make_snapshot()
{
    json::array links = links_view(links_);
    if (lab_)
        add_lab_state(links, *lab_);
    json::value lab = nullptr;
    if (lab_) {
        lab = lab_view(*lab_);
        lab.as_object()["problem"] =
            lab_problem_.empty() ? json::value(nullptr) : json::value(ctl::json_text(lab_problem_));
    }
    snapshot_ = json::serialize(json::object{{"number", number_},
                                             {"time_ns", now_ns()},
                                             {"period_ms", look_period.count()},
                                             {"lab", std::move(lab)},
                                             {"hosts", hosts_view()},
                                             {"nodes", nodes_view(links_)},
                                             {"links", std::move(links)},
                                             {"last_point", points_.last()},
                                             {"last_event", events_.last()}});
}

std::string view_model::history(std::uint64_t after_point, std::uint64_t after_event) const
{
    return json::serialize(
        json::object{{"points", points_.after(after_point)}, {"events", events_.after(after_event)}});
}

std::optional<std::string> view_model::link(const link_key &key) const
{
    const auto found = links_.find(key);
    if (found == links_.end())
        return std::nullopt;
    const link_table only{{key, found->second}};
    json::array line = links_view(only);
    if (lab_)
        add_lab_state(line, *lab_);
    json::object view = std::move(line.front().as_object());
    view["why"] = ctl::json_text(reason_in_words(found->second));
    const std::vector<host_look> hosts = looks();
    const json::object use = link_use(key, hosts, names_of(lab_), neighbours_of(lab_), events_);
    view.insert(use.begin(), use.end());
    return json::serialize(view);
}

} // namespace mrc::view
