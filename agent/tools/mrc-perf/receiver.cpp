// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/stream.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

// Each queue pair is asked: with a thousand of them, a look would take longer than its period. The fastest look counts:
// others have waited for a processor.
constexpr int rest_for_query = 20;

} // namespace

stream_receiver::stream_receiver(endpoint &local, channel &peer, const test_plan &plan,
                                 std::unique_ptr<payload_sink> sink)
    : local_{local}, peer_{peer}, plan_{plan}, sink_{std::move(sink)}, placed_(plan.qps), started_{run_clock::now()},
      last_sample_{started_}, last_counted_{local.query()}, fastest_query_{run_clock::now() - started_}
{
    if (plan_.interval_ms != 0)
        next_sample_ = started_ + std::chrono::milliseconds{plan_.interval_ms};
}

double stream_receiver::elapsed_ms() const
{
    return std::chrono::duration<double, std::milli>(run_clock::now() - started_).count();
}

bool stream_receiver::step()
{
    if (finished_)
        return false;
    bool active = check_one();
    active |= sample(run_clock::now());
    if (total_ && (!plan_.checked() || checked_ == *total_)) {
        finish();
        active = true;
    }
    return active;
}

void stream_receiver::on_placed(const boost::json::object &body)
{
    const auto *list = body.if_contains("messages");
    if (list == nullptr || !list->is_array() || list->get_array().size() != placed_.size())
        throw perf_error{"the far end's message lacks 'messages'", "far_end"};
    for (std::size_t qp = 0; qp < placed_.size(); ++qp)
        placed_[qp] = list->get_array()[qp].to_number<std::uint64_t>();
}

bool stream_receiver::check_one()
{
    const std::uint64_t turn = checked_ / plan_.qps;
    const auto qp = static_cast<std::uint32_t>(checked_ % plan_.qps);
    const std::uint64_t limit = total_.value_or(plan_.mode == test_mode::file ? plan_.messages : UINT64_MAX);
    if (!plan_.checked() || placed_[qp] <= turn || checked_ >= limit)
        return false;
    sink_->take(checked_, local_.receive_slot(qp, turn % plan_.window).first(plan_.message_bytes(checked_)));
    ++checked_;
    peer_.send(message_kind::consumed, {{"messages", checked_}});
    return true;
}

bool stream_receiver::sample(run_clock::time_point now)
{
    if (!next_sample_ || now < *next_sample_)
        return false;
    const traffic counted = local_.query();
    const double seconds = std::chrono::duration<double>(now - last_sample_).count();
    const auto bytes = counted.rx_bytes - last_counted_.rx_bytes;
    boost::json::array planes;
    for (std::uint32_t plane = 0; plane < counted.planes; ++plane)
        planes.push_back(counted.plane_rx_packets[plane] - last_counted_.plane_rx_packets[plane]);
    peer_.send(message_kind::interval, {{"t_ms", elapsed_ms()},
                                        {"seconds", seconds},
                                        {"bytes", counted.rx_bytes},
                                        {"goodput_gbps", static_cast<double>(bytes) * 8e-9 / seconds},
                                        {"plane_rx_packets", std::move(planes)},
                                        {"max_stall_us", counted.longest_stall_us},
                                        {"phase", phases_.size()}});
    last_counted_ = counted;
    last_sample_ = now;
    const auto period = std::chrono::milliseconds{plan_.interval_ms};
    fastest_query_ = std::min(fastest_query_, run_clock::now() - now);
    // Late ones are not caught up with.
    next_sample_ = std::max({*next_sample_ + period, now + period / 2, now + rest_for_query * fastest_query_});
    return true;
}

void stream_receiver::end_phase(const traffic &counted)
{
    phases_.push_back(boost::json::object{
        {"from_ms", phase_from_ms_}, {"to_ms", elapsed_ms()}, {"max_stall_us", counted.longest_stall_us}});
    phase_from_ms_ = elapsed_ms();
}

void stream_receiver::on_mark()
{
    end_phase(local_.query());
    local_.reset_stall();
}

void stream_receiver::on_done(boost::json::object body)
{
    sender_ = std::move(body);
    total_ = member(sender_, "messages");
    placed_.assign(placed_.size(), UINT64_MAX); // `done` follows the last completion
    if (plan_.checked() && (*total_ < checked_ || (plan_.mode == test_mode::file && *total_ > plan_.messages)))
        throw perf_error{fmt::format("the far end counts {} messages where {} were announced", *total_, plan_.messages),
                         "far_end"};
}

void stream_receiver::finish()
{
    end_phase(local_.query());
    const bool partial = plan_.mode == test_mode::file && checked_ != plan_.messages;
    verdict_ = sink_->judge(partial ? std::string{} : text_member(sender_, "sha256"));
    if (partial)
        verdict_.complaint = "only a part of the file was sent";
    summary_ = summary();
    finished_ = true;
    peer_.send(message_kind::result, summary_);
}

boost::json::object stream_receiver::summary()
{
    if (finished_)
        return summary_;
    boost::json::object result{{"messages_checked", checked_},
                               {"phases", phases_},
                               {"sha256", verdict_.sha256},
                               {"complaint", verdict_.complaint},
                               {"traffic", to_json(local_.query())}};
    result["verified"] = verdict_.verified ? boost::json::value(*verdict_.verified) : boost::json::value(nullptr);
    return result;
}

} // namespace mrc::perf
