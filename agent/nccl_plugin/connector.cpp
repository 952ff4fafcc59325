// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/connector.h"

#include "messaging/failure.h"
#include "nccl_plugin/log.h"

namespace mrc::nccl_plugin
{

namespace
{

constexpr std::chrono::seconds forgotten_after{60};

} // namespace

connect_attempt::connect_attempt(std::shared_ptr<session> at, const connect_handle &to)
    : session_{std::move(at)}, to_{to}
{
}

result connect_attempt::failed(result outcome, const std::string &why) const
{
    warn(session_->endpoint.text() + ", connecting to " + messaging::gid_text(to_.gid) + " by " + to_.listener.text() +
         ": " + why);
    return outcome;
}

// On to the next stage, once this one is done.
result connect_attempt::step(messaging::exchange_step done, stage next)
{
    if (done == messaging::exchange_step::failed)
        return failed(result::remote_error, socket_.why());
    if (done == messaging::exchange_step::done)
        at_ = next;
    return result::success;
}

result connect_attempt::proceed(std::unique_ptr<sender> &made)
{
    for (;;) {
        const stage before = at_;
        result now = result::success;
        switch (at_) {
        case stage::begin:
            now =
                step(socket_.connect(to_.listener) ? messaging::exchange_step::done : messaging::exchange_step::failed,
                     stage::connecting);
            break;
        case stage::connecting:
            now = step(socket_.finish_connect(), stage::greeting);
            if (at_ == stage::greeting)
                now = open();
            break;
        case stage::greeting:
            now = step(socket_.send(), stage::waiting);
            if (at_ == stage::waiting && outcome_ != result::success)
                return outcome_;
            break;
        case stage::waiting:
            now = step(socket_.receive(greeting::encoded_bytes), stage::establishing);
            if (at_ == stage::establishing)
                now = connect();
            break;
        case stage::establishing:
            now = connection_->health();
            if (now == result::success && connection_->established())
                made = std::move(connection_);
            return now;
        }
        if (now != result::success || at_ == before)
            return now;
    }
}

result connect_attempt::open()
{
    greeting ours{.token = to_.token, .address = {}};
    try {
        connection_ = std::make_unique<sender>(session_);
        ours.address = connection_->address();
        outcome_ = connection_->health();
    } catch (const messaging::messaging_failure &failure) {
        outcome_ = failed(result::system_error, failure.what());
    }
    socket_.queue(ours.encode());
    return result::success; // the far end is told first
}

result connect_attempt::connect()
{
    const auto theirs = greeting::decode(socket_.received().first<greeting::encoded_bytes>(), to_.token);
    if (!theirs)
        return failed(result::remote_error, "what answers there is no listener of this version");
    if (!theirs->address)
        return failed(result::remote_error, "the far end could not set up its end; its own log says why");
    const bool connected = connection_->connect(*theirs->address);
    connection_->watch(std::move(socket_));
    return connected ? result::success : connection_->health();
}

std::shared_ptr<connect_attempt> connector::find(connect_handle &to, const std::shared_ptr<session> &at)
{
    const std::lock_guard held{mutex_};
    const clock::time_point now = clock::now();
    if (const auto known = entries_.find(to.attempt);
        known != entries_.end() && known->second.attempt->to().token == to.token) {
        known->second.asked_at = now;
        return known->second.attempt;
    }
    std::erase_if(entries_, [&](const auto &one) { return now - one.second.asked_at > forgotten_after; });
    to.attempt = ++last_;
    auto made = std::make_shared<connect_attempt>(at, to);
    entries_.emplace(to.attempt, entry{.attempt = made, .asked_at = now});
    return made;
}

result connector::connect(const std::shared_ptr<session> &at, std::span<std::byte, handle_bytes> handle,
                          std::unique_ptr<sender> &made)
{
    auto to = connect_handle::decode(handle);
    if (!to) {
        warn("a handle to connect to is none of this plug-in: is NCCL_NET_PLUGIN=mrc set on all hosts?");
        return result::invalid_argument;
    }
    const std::shared_ptr<connect_attempt> attempt = find(*to, at);
    const result now = attempt->proceed(made);
    if (now != result::success || made) {
        const std::lock_guard held{mutex_};
        entries_.erase(to->attempt);
        to->attempt = 0;
    }
    to->encode(handle);
    return now;
}

} // namespace mrc::nccl_plugin
