// SPDX-License-Identifier: Apache-2.0
// Two NSCC flows on one bottleneck, on simulated time: a FIFO queue that marks between two thresholds, fixed delays,
// one SACK per packet. They must share the link and keep the queue near the target delay.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <vector>

#include "protocol/congestion/nscc.h"
#include "protocol/random_source.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

struct bottleneck {
    nscc_link link;
    double ecn_min_bytes;
    double ecn_max_bytes;
    std::uint64_t seed;
};

enum class event_kind : std::uint8_t { enqueue, depart, sack };

struct packet_event {
    instant at;
    std::uint64_t order; // of scheduling: ties are kept in it
    event_kind kind;
    unsigned flow;
    instant sent_at;
    bool marked;

    friend bool operator>(const packet_event &a, const packet_event &b)
    {
        return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
};

// The queue: serves one packet at a time, marks by its length when it begins to serve (as switches mark at dequeue).
class simulation
{
public:
    static constexpr unsigned flows = 2;

    explicit simulation(const bottleneck &of) : of_{of}, random_{of.seed}
    {
        for (auto &flow : flows_)
            flow = std::make_unique<nscc>(derive_nscc(of.link));
    }

    // Flow `flow` has data from now on.
    void start(unsigned flow)
    {
        started_[flow] = true;
        pump(flow);
    }

    void run(duration time)
    {
        const instant end = now_ + time;
        while (!events_.empty() && events_.top().at <= end) {
            const packet_event event = events_.top();
            events_.pop();
            now_ = event.at;
            handle(event);
        }
        now_ = end;
    }

    void forget()
    {
        delivered_ = {};
        delays_.clear();
    }

    [[nodiscard]] const std::array<std::uint64_t, flows> &delivered() const { return delivered_; }
    [[nodiscard]] duration median_delay()
    {
        std::ranges::nth_element(delays_, delays_.begin() + static_cast<std::ptrdiff_t>(delays_.size() / 2));
        return delays_[delays_.size() / 2];
    }
    [[nodiscard]] const nscc &flow(unsigned which) const { return *flows_[which]; }

private:
    [[nodiscard]] duration serialization() const
    {
        return duration{static_cast<std::int64_t>(of_.link.mtu * 8e9 / static_cast<double>(of_.link.bits_per_second))};
    }

    void schedule(packet_event event, duration after)
    {
        event.at = now_ + after;
        event.order = ++scheduled_;
        events_.push(event);
    }

    void pump(unsigned flow)
    {
        while (flows_[flow]->can_send(of_.link.mtu)) {
            flows_[flow]->on_sent(of_.link.mtu, now_);
            schedule(
                {.at = {}, .order = 0, .kind = event_kind::enqueue, .flow = flow, .sent_at = now_, .marked = false},
                duration::zero());
        }
    }

    void serve()
    {
        packet_event packet = queue_.front();
        const double length = static_cast<double>(queue_.size()) * of_.link.mtu;
        const double share = (length - of_.ecn_min_bytes) / (of_.ecn_max_bytes - of_.ecn_min_bytes);
        packet.marked = share > 0 && random_.below(1'000'000) < share * 1'000'000;
        packet.kind = event_kind::depart;
        delays_.push_back(now_ - packet.sent_at);
        schedule(packet, serialization());
    }

    void handle(packet_event event)
    {
        switch (event.kind) {
        case event_kind::enqueue:
            queue_.push_back(event);
            if (queue_.size() == 1)
                serve();
            break;
        case event_kind::depart:
            queue_.pop_front();
            if (!queue_.empty())
                serve();
            event.kind = event_kind::sack;
            schedule(event, of_.link.base_rtt - serialization());
            break;
        case event_kind::sack:
            delivered_[event.flow] += of_.link.mtu;
            flows_[event.flow]->on_sack(
                {.newly_bytes = of_.link.mtu, .congestion_experienced = event.marked, .rtt = now_ - event.sent_at},
                now_);
            for (unsigned flow = 0; flow < flows; ++flow)
                if (started_[flow])
                    pump(flow);
            break;
        }
    }

    bottleneck of_;
    random_source random_;
    std::array<std::unique_ptr<nscc>, flows> flows_;
    std::array<bool, flows> started_{};
    std::deque<packet_event> queue_; // the first is being served
    std::priority_queue<packet_event, std::vector<packet_event>, std::greater<>> events_;
    instant now_{1s};
    std::uint64_t scheduled_ = 0;
    std::array<std::uint64_t, flows> delivered_{};
    std::vector<duration> delays_; // from sending to the beginning of service
};

struct fabric_case {
    const char *name;
    nscc_link link;
};

class nscc_convergence_test : public testing::TestWithParam<fabric_case>
{
};

TEST_P(nscc_convergence_test, two_flows_share_a_bottleneck_and_keep_its_queue_at_the_target_delay)
{
    const nscc_link &link = GetParam().link;
    const double bdp = static_cast<double>(link.bits_per_second) * static_cast<double>(link.base_rtt.count()) / 8e9;
    simulation network{{.link = link, .ecn_min_bytes = 0.2 * bdp, .ecn_max_bytes = 0.8 * bdp, .seed = 7}};
    network.start(0);
    network.run(200 * link.base_rtt);
    network.start(1); // into a link that the first flow has for itself
    network.run(1000 * link.base_rtt);
    network.forget();
    network.run(2000 * link.base_rtt);

    const auto [first, second] = network.delivered();
    const double capacity = bdp * 2000;
    const duration target = network.flow(0).config().target_delay;
    RecordProperty("share_percent", static_cast<int>(100 * first / (first + second)));
    RecordProperty("queue_ns", static_cast<int>(network.median_delay().count()));
    EXPECT_GT(static_cast<double>(first + second), 0.97 * capacity) << "the link is kept busy";
    EXPECT_NEAR(static_cast<double>(first), static_cast<double>(second), 0.1 * static_cast<double>(first));
    EXPECT_GT(network.median_delay(), target * 4 / 5);
    EXPECT_LT(network.median_delay(), target * 6 / 5);
}

INSTANTIATE_TEST_SUITE_P(
    fabrics, nscc_convergence_test,
    testing::Values(fabric_case{"reference", {.bits_per_second = 100'000'000'000, .base_rtt = 12us, .mtu = 4000}},
                    fabric_case{"untrimmed",
                                {.bits_per_second = 100'000'000'000, .base_rtt = 12us, .mtu = 4000, .trimming = false}},
                    fabric_case{"software_host",
                                {.bits_per_second = 10'000'000'000,
                                 .base_rtt = 100us,
                                 .mtu = 3160,
                                 .software = true,
                                 .base_rtt_floor = 90us,
                                 .min_window = 100'000}}),
    [](const auto &instance) { return instance.param.name; });

} // namespace
} // namespace mrc::protocol
