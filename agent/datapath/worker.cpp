// SPDX-License-Identifier: Apache-2.0
#include "datapath/worker.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "codec/frame_codec.h"
#include "datapath/work_queues.h"
#include "kernel/startup_error.h"

namespace mrc::datapath
{

using namespace std::chrono_literals;
using protocol::instant;

namespace
{

constexpr std::size_t ethernet_bytes = 14;
constexpr auto report_interval = 10ms;
constexpr unsigned rounds_of_a_guest = 4; // at a time; what is left is the keeper's
constexpr auto unsent_retry = 200us; // nothing tells when an engine that is full can send again, or memory comes back

// Of packets that belong to a QP.
protocol::qpn destination_of(const protocol::packet &content)
{
    return std::visit(
        [](const auto &packet) {
            if constexpr (requires { packet.destination; })
                return packet.destination;
            else
                return protocol::qpn{MRC_QPN_ENDPOINT};
        },
        content);
}

} // namespace

// What the turns are made of: turn_scheduler.h.
class worker::turn_work
{
public:
    enum class sends { what_is_due, nothing };

    explicit turn_work(worker &of, sends what = sends::what_is_due) : of_{of}, silent_{what == sends::nothing} {}

    [[nodiscard]] bool ready(const worker_qp &qp)
    {
        return !silent_ && (qp.peer.own_host ? lane_of(qp).ready() : of_.output_.ready());
    }
    [[nodiscard]] instant now() const { return of_.options_.clock(); }
    static std::size_t deliver(worker_qp &qp, std::size_t most) { return deliver_completions(qp, most); }
    static std::size_t take(worker_qp &qp, std::size_t most, instant now) { return take_requests(qp, most, now); }
    std::uint32_t send(worker_qp &qp, instant now)
    {
        const std::optional<protocol::outgoing> packet = qp.protocol->next_packet(now);
        if (!packet)
            return 0;
        const bool sent = qp.peer.own_host ? lane_of(qp).send(qp, *packet)
                                           : of_.output_.send(qp.address, qp.peer.host_usid, *packet, &qp);
        if (!sent)
            qp.protocol->fail(protocol::completion_status::local_protection_error);
        return packet_cost(packet->payload.bytes);
    }
    void visited(worker_qp &qp, instant now)
    {
        write_limit((*of_.io_.qps)[MRC_QPN_ROW(qp.number.value)], qp, now);
        if (qp.peer.own_host)
            end_own_turn(qp);
        else
            of_.output_.end_turn();
        if (qp.protocol->state() == protocol::qp_state::error) [[unlikely]]
            of_.report_failure(qp);
        of_.deadlines_.expect(qp, qp.protocol->next_deadline());
    }
    bool retire(worker_qp &qp)
    {
        if (!only_waits(qp)) {
            const auto wish = waits_for_window(qp);
            if (!wish)
                return false;
            of_.windows_.add(qp, *wish);
            of_.waiting_.add(qp);
            return true;
        }
        if (!is_idle(qp)) {
            of_.waiting_.add(qp);
            return true;
        }
        write_row((*of_.io_.qps)[MRC_QPN_ROW(qp.number.value)], qp);
        of_.resting_.add(qp, now());
        return true;
    }
    void flush() { of_.output_.flush(); }
    [[nodiscard]] bool others_wait(const worker_client &served) const { return of_.bells_rung(&served); }

private:
    [[nodiscard]] loopback &lane_of(const worker_qp &qp)
    {
        return of_.io_.lanes->lane(of_.io_.number, of_.worker_of(qp.peer_number));
    }
    void end_own_turn(const worker_qp &qp)
    {
        loopback &lane = lane_of(qp);
        lane.end_turn();
        if (const unsigned other = of_.worker_of(qp.peer_number); other != of_.io_.number && lane.any())
            of_.io_.wake_other(other);
    }

    worker &of_;
    bool silent_;
};

worker::worker(worker_options options, resources borrowed)
    : options_{std::move(options)}, io_{std::move(borrowed)}, memory_{options_.memory}, turns_{options_.turns},
      output_{options_.marks, io_.engines, *io_.paths}, desk_{{.output = output_,
                                                               .paths = *io_.paths,
                                                               .overlay = *io_.overlay,
                                                               .clock = options_.clock,
                                                               .on_peer_change = io_.on_peer_change,
                                                               .on_batch_done = io_.on_batch_done,
                                                               .speaks = io_.number == 0}},
      verdicts_{io_.write_verdict}, own_report_{io_.row}
{
    if (io_.states == nullptr)
        io_.states = &own_states_.emplace(*io_.paths);
    if (io_.lanes == nullptr)
        io_.lanes = &own_lanes_.emplace(1);
    deadlines_.make_room(MRC_MAX_QPS);
}

worker::~worker()
{
    stop();
}

void worker::start()
{
    thread_ = std::thread{[this] { run(); }};
    if (options_.cpus.empty())
        return;
    cpu_set_t set{};
    for (const std::uint32_t cpu : options_.cpus)
        CPU_SET(cpu, &set);
    if (const int error = ::pthread_setaffinity_np(thread_.native_handle(), sizeof(set), &set); error != 0)
        kernel::fail_startup("cannot put the worker on CPUs " + kernel::cpu_list_text(options_.cpus), error);
}

void worker::stop()
{
    stopping_ = true;
    if (thread_.joinable()) {
        sleeper_.wake();
        turns_of_threads_.summon();
        thread_.join();
    }
}

void worker::submit(service_calls::call &request)
{
    if (!thread_.joinable()) { // not started yet, or stopped: the caller is alone
        request.run();
        return;
    }
    {
        const std::scoped_lock turn{callers_}; // the queue has room for one producer
        calls_.put(request);
    }
    sleeper_.wake();
    turns_of_threads_.summon();
    request.done.acquire();
}

void worker::add_client(std::unique_ptr<worker_client> client)
{
    clients_.push_back(std::move(client));
}

std::unique_ptr<worker_client> worker::remove_client(const worker_client &client)
{
    const auto at = std::ranges::find_if(clients_, [&](const auto &one) { return one.get() == &client; });
    if (at == clients_.end())
        return nullptr;
    sleeper_.stop_hearing(client.doorbell); // the client holds it still
    std::unique_ptr<worker_client> gone = std::move(*at);
    clients_.erase(at);
    return gone;
}

void worker::add_qp(std::unique_ptr<worker_qp> qp)
{
    worker_qp &added = qps_.add(std::move(qp));
    added.client->by_bell[added.bell] = &added;
    added.protocol->set_receive_penalty(overload_.penalty());
    added.protocol->set_receive_share(overload_.share());
    added.protocol->announce();
    if (added.posted)
        added.posted->announce();
    waiting_.enter(added);
    windows_.enter(added);
    activate(added);
}

std::unique_ptr<worker_qp> worker::remove_qp(protocol::qpn number)
{
    std::unique_ptr<worker_qp> qp = qps_.remove(number);
    if (!qp)
        return nullptr;
    if (qp->protocol->state() == protocol::qp_state::error)
        report_failure(*qp);
    qp->protocol->fail(protocol::completion_status::flushed); // what it had in flight leaves the window of its peer
    turns_.deactivate(*qp);
    qp->client->by_bell[qp->bell] = nullptr;
    resting_.remove(*qp);
    waiting_.leave(*qp);
    windows_.leave(*qp);
    changed_.forget(*qp);
    deadlines_.remove(*qp);
    qp->protocol.reset(); // what they have borrowed is this thread's
    qp->posted.reset();
    return qp;
}

// Who is in use is what their groups ask from now on.
void worker::forget(std::span<const worker_peer> hosts, std::span<const protocol::path_group *const> paths)
{
    desk_.watch(qps_.connected().peers(), options_.clock());
    host_set gone;
    for (const worker_peer &host : hosts)
        gone.insert(host.ports);
    desk_.forget(gone, {paths.begin(), paths.end()});
}

void worker::run()
{
    sigset_t all;
    ::sigfillset(&all);
    ::sigdelset(&all, SIGBUS);                   // raised by this thread's own copies, see sigbus_guard.h
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr); // a signal would end a transmit call early
    ::pthread_setname_np(::pthread_self(), "mrc-worker");
    ::prctl(PR_SET_TIMERSLACK, 1);

    {
        const std::scoped_lock baton{turns_of_threads_.baton()};
        own_report_.begin();
    }
    for (;;) {
        if (turns_of_threads_.try_keep()) {
            const std::scoped_lock baton{turns_of_threads_.baton()};
            keep();
            if (stopping_)
                break;
            turns_of_threads_.stop_keeping();
        }
        turns_of_threads_.stand_aside();
    }
    calls_.run_all();
}

// Until a guest has no need of it.
void worker::keep()
{
    instant idle_since = options_.clock();
    while (!stopping_.load(std::memory_order_relaxed) && !turns_of_threads_.is_unwanted()) {
        const bool idle = round() == 0;
        const instant now = options_.clock();
        if (!idle)
            idle_since = now;
        else if (now - idle_since >= options_.spin || !core_.try_now(now, options_.clock))
            sleep();
    }
}

void worker::dismiss_guests()
{
    turns_of_threads_.dismiss_guests();
    sleeper_.wake();
}

bool worker::round_as_guest(session::round_for what)
{
    if (what == session::round_for::spin && turns_of_threads_.send_aside())
        sleeper_.wake();
    const std::unique_lock baton{turns_of_threads_.baton(), std::try_to_lock};
    if (!baton || !turns_of_threads_.admits_guests())
        return false;
    turns_of_threads_.note_visit();
    std::size_t work = 1;
    for (unsigned rounds = 0; work != 0 && rounds < rounds_of_a_guest; ++rounds) {
        const arrivals come = take_in();
        owes_answers_ = what != session::round_for::post && may_answer_later(come);
        if (owes_answers_) {
            (void)turns_.run(0, turn_work{*this, turn_work::sends::nothing});
            return true;
        }
        work = come.work + go_on(come);
    }
    if (sleeper_.is_parked())
        sleeper_.wake_by(work != 0 ? options_.clock() : next_deadline());
    return true;
}

// Not where the own thread sleeps until something is due.
bool worker::may_answer_later(const arrivals &come) const
{
    return come.packets != 0 && !owes_answers_ && !sleeper_.is_parked();
}

std::optional<int> worker::poll_as_guest(std::span<pollfd> descriptors, instant until)
{
    if (!turns_of_threads_.become_keeper([this] { sleeper_.wake(); }))
        return std::nullopt;
    const int ready = keep_as_guest(descriptors, until);
    turns_of_threads_.leave_keeping();
    return ready;
}

// A descriptor may have become ready in a round that did something, in a sleep, or before.
int worker::keep_as_guest(std::span<pollfd> descriptors, instant until)
{
    const std::scoped_lock baton{turns_of_threads_.baton()};
    constexpr timespec at_once{};
    for (bool news = true; turns_of_threads_.admits_guests(); news = round() != 0) {
        if (news) {
            if (const int ready = ::ppoll(descriptors.data(), descriptors.size(), &at_once, nullptr); ready != 0)
                return ready;
            continue;
        }
        const sleep_end end = sleep(descriptors, until);
        if (end == sleep_end::ready)
            return static_cast<int>(
                std::ranges::count_if(descriptors, [](const pollfd &one) { return one.revents != 0; }));
        if (end == sleep_end::interrupted)
            return -1;
        if (options_.clock() >= until)
            return 0;
    }
    return -1;
}

std::size_t worker::round()
{
    const arrivals come = take_in();
    return come.work + go_on(come);
}

// Until what has arrived is in memory.
worker::arrivals worker::take_in()
{
    ++counters_.loops;
    std::size_t work = calls_.run_all();
    (void)memory_.replenish();
    const instant now = options_.clock();
    if (io_.trace != nullptr)
        io_.trace->look(now);
    const receive_result received = receive(now);
    const std::size_t packets = received.frames + deliver_own(now);
    write_gathered();
    return {.at = now, .packets = packets, .work = work + packets, .unread = received.unread};
}

// Answers, what is due and what clients ask for; what it did.
std::size_t worker::go_on(const arrivals &come)
{
    answer_bells();
    if (timer_gate_.may_run(come.unread))
        run_timers(come.at);
    look_at_ways();
    windows_.admit([this](worker_qp &qp) { activate(qp); });
    const std::size_t work = turns_.run(desk_.transmit(come.at), turn_work{*this});
    if (come.at >= next_watch_) {
        desk_.watch(qps_.connected().peers(), come.at);
        next_watch_ = come.at + probe_targets::watch_interval;
    }
    if (come.at >= next_report_) {
        report(come.at);
        resting_.give_back(come.at);
        next_report_ = come.at + report_interval;
    }
    return work;
}

receive_result worker::receive(instant now)
{
    const receive_result result =
        receive_fairly(*io_.sockets, [&](std::byte *data, std::uint32_t length) { on_frame(data, length, now); });
    counters_.received += result.frames;
    return result;
}

// Before anything is sent or completed.
void worker::write_gathered()
{
    if (regions_.gathered().empty())
        return;
    regions_.gathered().write(
        [this](const held_packet &packet, std::size_t bytes) {
            qps_.find(packet.owner)->protocol->refuse_held(packet.number, bytes);
        },
        [this](protocol::qpn owner) { qps_.find(owner)->protocol->settle(); });
}

void worker::on_frame(std::byte *data, std::uint32_t length, instant now)
{
    mrc_rx_meta meta{};
    constexpr std::size_t in_front = sizeof(meta) + ethernet_bytes;
    if (length >= in_front)
        std::memcpy(&meta, data, sizeof(meta));
    if (meta.magic != MRC_RX_META_MAGIC) {
        ++counters_.drops[MRC_AGENT_DROP_NO_METADATA];
        return;
    }
    const bool trimmed = (meta.flags & MRC_RX_TRIMMED) != 0;
    const auto parsed = codec::decode({data + in_front, length - in_front}, trimmed);
    if (!parsed) {
        ++counters_.drops[codec::verdict(parsed.error())];
        return;
    }
    const instant arrival{std::chrono::nanoseconds{meta.arrival_ns}};
    counters_.lag.add(now - arrival);
    counters_.backlogged += options_.backlog_mark.count() != 0 && now - arrival > options_.backlog_mark ? 1 : 0;
    const protocol::arrival arrived{.entropy = protocol::ev{meta.ev},
                                    .path = protocol::path_index{meta.path},
                                    .at = arrival,
                                    .congestion_experienced = (meta.flags & MRC_RX_CE) != 0,
                                    .trimmed = trimmed,
                                    .trimmed_last_hop = (meta.flags & MRC_RX_LAST_HOP) != 0,
                                    .wire_bytes = parsed->ip_bytes};
    if (meta.qp_row == MRC_NO_QP)
        ++counters_.drops[desk_.on_packet(*parsed, arrived, now)];
    else // the row may have changed hands while the frame waited in its ring
        on_qp_packet(qps_.find(destination_of(parsed->content)), *parsed, arrived, now);
}

void worker::on_qp_packet(worker_qp *qp, const codec::decoded &packet, const protocol::arrival &how, instant now)
{
    if (qp == nullptr) {
        ++counters_.drops[MRC_AGENT_DROP_UNKNOWN_QP];
        return;
    }
    if (!same_address(packet.source, qp->sources[mrc_ev_plane(how.entropy.value)])) {
        ++counters_.drops[MRC_AGENT_DROP_WRONG_PEER];
        return;
    }
    ++counters_.drops[MRC_AGENT_ACCEPTED];
    accept(*qp, packet.content, packet.payload, how, now);
}

// A packet of another host names no queue pair that it comes from: whichever of the peer's may have sent it. Here it is
// known, and only the one at the other end may.
void worker::on_own_packet(const loopback::passing &packet, instant now)
{
    worker_qp *qp = qps_.find(destination_of(packet.content));
    if (qp == nullptr) {
        ++counters_.drops[MRC_AGENT_DROP_UNKNOWN_QP];
        return;
    }
    if (!qp->peer.own_host || qp->peer_number != packet.from) {
        ++counters_.drops[MRC_AGENT_DROP_WRONG_PEER];
        return;
    }
    ++counters_.drops[MRC_AGENT_LOCAL];
    accept(*qp, packet.content, packet.payload,
           {.entropy = packet.entropy, .path = packet.path, .at = now, .wire_bytes = packet.ip_bytes}, now);
}

// A row of nobody's leads to whichever worker: there the packet is one to no queue pair.
unsigned worker::worker_of(protocol::qpn number) const
{
    return (*io_.qps)[MRC_QPN_ROW(number.value)].worker % io_.lanes->workers();
}

std::size_t worker::deliver_own(instant now)
{
    std::size_t packets = 0;
    for (unsigned from = 0; from < io_.lanes->workers(); ++from) {
        const auto done = io_.lanes->lane(from, io_.number).deliver([&](const loopback::passing &packet) {
            on_own_packet(packet, now);
        });
        packets += done.packets;
        if (done.made_room && from != io_.number)
            io_.wake_other(from);
    }
    return packets;
}

bool worker::any_own() const
{
    for (unsigned from = 0; from < io_.lanes->workers(); ++from)
        if (io_.lanes->lane(from, io_.number).any())
            return true;
    return false;
}

void worker::accept(worker_qp &qp, const protocol::packet &content, std::span<const std::byte> payload,
                    const protocol::arrival &how, instant now)
{
    turn_scheduler::charge_arrival(*qp.client, static_cast<std::uint32_t>(payload.size()));
    if (!regions_.gathered().has_room())
        write_gathered();
    take_receives_for_packet(qp);
    activate(qp);
    qp.protocol->on_packet(content, payload, how, now);
}

void worker::answer_bells()
{
    for (const auto &client : clients_)
        client->bells().answer([&](std::uint32_t bell) {
            if (bell < client->by_bell.size() && client->by_bell[bell] != nullptr)
                activate(*client->by_bell[bell]);
        });
}

bool worker::bells_rung(const worker_client *except) const
{
    return std::ranges::any_of(clients_,
                               [&](const auto &client) { return client.get() != except && client->bells().any(); });
}

void worker::run_timers(instant now)
{
    while (deadlines_.first_due() <= now) {
        worker_qp &qp = *deadlines_.first();
        if (qp.protocol->next_deadline() <= now) {
            qp.protocol->on_timer(now);
            activate(qp);
        }
        deadlines_.correct_first(std::max(qp.protocol->next_deadline(), now + 1ns));
    }
}

// What flies on a way that is lost is sent again at once, whoever waits for the answer.
bool worker::look_at_ways()
{
    return waiting_.look([this](worker_qp &qp) { activate(qp); });
}

void worker::report(instant now)
{
    own_report_.write(counters_, follow_receive_drops(), now);
    counters_.reported += changed_.write_all(*io_.qps);
    idle_reports_.write_some(*io_.qps, qps_.all());
    desk_.visit_changed([&](protocol::path_group &group) { counters_.reported += write_counts(*io_.paths, group); });
    verdicts_.publish(counters_.drops);
    report_changes();
    desk_.forget_changed();
}

// Costs nothing but a look when nothing has changed.
void worker::report_changes()
{
    desk_.visit_changed([&](protocol::path_group &group) {
        while (const auto change = group.next_transition())
            io_.states->note(io_.number, *change, io_.on_path_state);
    });
    verdicts_.publish_drops(counters_.drops);
}

void worker::report_failure(worker_qp &qp)
{
    if (!std::exchange(qp.failure_told, true) && io_.on_qp_failed)
        io_.on_qp_failed(qp);
}

// How many there are.
std::uint64_t worker::follow_receive_drops()
{
    std::uint64_t dropped = 0;
    for (const auto &socket : *io_.sockets) {
        const auto drops = socket->drops(); // the kernel counts each packet in one of them
        dropped += drops.receive_dropped + drops.receive_ring_full;
    }
    if (overload_.follow(dropped))
        for (const auto &qp : qps_.all()) { // an idle one has to know it, too, when it goes on
            qp->protocol->set_receive_penalty(overload_.penalty());
            qp->protocol->set_receive_share(overload_.share());
        }
    return dropped;
}

instant worker::next_deadline()
{
    instant first = desk_.next_deadline();
    if (!output_.ready()) // what is due for it cannot leave
        first = std::max(first, options_.clock() + unsent_retry);
    first = std::min(first, deadlines_.settle([](const worker_qp &qp) { return qp.protocol->next_deadline(); }));
    const bool stuck = output_.unsent() || memory_.take_refused();
    return stuck ? std::min(first, options_.clock() + unsent_retry) : first;
}

sleep_end worker::sleep(std::span<pollfd> own, instant until)
{
    report_changes();
    if (memory_.replenish() || look_at_ways()) // somebody has waited for it
        return sleep_end::not_slept;
    const sleep_end end = sleeper_.park_until(
        std::min(next_deadline(), until), *io_.sockets,
        [this] { return calls_.any() || bells_rung(nullptr) || any_own() || turns_.any_active(has_requests); },
        turns_of_threads_.baton(), own);
    counters_.sleeps += end == sleep_end::not_slept ? 0 : 1;
    return end;
}

} // namespace mrc::datapath
