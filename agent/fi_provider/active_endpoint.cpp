// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/active_endpoint.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#include "fi_provider/endpoint_calls.h"
#include "fi_provider/info.h"
#include "fi_provider/passive_endpoint.h"
#include "messaging/failure.h"

namespace mrc::fi_provider
{

namespace
{

// What the far end had sent before it went is here already, and waits for this process's threads at most.
constexpr std::chrono::milliseconds grace{500};

} // namespace

active_endpoint::active_endpoint(domain &in, const fi_info &info, void *context)
    : fid_ep{.fid = {.fclass = FI_CLASS_EP, .context = context, .ops = &endpoint_ops},
             .ops = &active_options,
             .cm = &connecting_calls,
             .msg = &message_calls,
             .rma = &memory_calls,
             .tagged = nullptr,
             .atomic = nullptr,
             .collective = nullptr},
      in_{in}, domain_use_{in}, transmit_flags_{info.tx_attr != nullptr ? info.tx_attr->op_flags : 0},
      receive_flags_{info.rx_attr != nullptr ? info.rx_attr->op_flags : 0},
      source_{messaging::socket_address::from(static_cast<const sockaddr *>(info.src_addr))},
      destination_{messaging::socket_address::from(static_cast<const sockaddr *>(info.dest_addr))}
{
    write_reader_ = std::make_shared<unread_write>(in_, this);
    if (info.handle != nullptr && info.handle->fclass == FI_CLASS_CONNREQ) {
        const auto request = take_request(info.handle);
        socket_ = std::move(request->socket);
        peer_ = request->said.address;
        source_ = socket_.own_address();
    } else if (info.handle != nullptr && info.handle->fclass == FI_CLASS_PEP) {
        passive_endpoint &from = passive_of(info.handle);
        source_ = from.address();
        socket_.connect_from(from.give_socket());
    }
}

active_endpoint::~active_endpoint()
{
    {
        const auto managing = in_.in.connections.lock();
        in_.in.connections.remove(*this);
        socket_.end();
    }
    auto held = in_.endpoint.lock();
    write_reader_->of = nullptr;
    if (fabric_ != nullptr) {
        if (is_transferring())
            in_.endpoint.cut({&fabric_, 1}, held);
        else
            in_.endpoint.close(fabric_);
    }
    held.unlock();
    if (events_ != nullptr)
        events_->forget(&fid);
}

int active_endpoint::bind(fid_t what, std::uint64_t flags)
{
    if (what->fclass == FI_CLASS_EQ) {
        events_ = static_cast<fi_event_queue *>(reinterpret_cast<fid_eq *>(what));
        events_use_ = use_of{*events_};
        return 0;
    }
    if (what->fclass != FI_CLASS_CQ)
        return -FI_ENOSYS;
    auto *queue = static_cast<completion_queue *>(reinterpret_cast<fid_cq *>(what));
    if ((flags & FI_TRANSMIT) != 0) {
        transmitted_ = queue;
        transmitted_use_ = use_of{*queue};
        transmits_selected_ = (flags & FI_SELECTIVE_COMPLETION) != 0;
    }
    if ((flags & FI_RECV) != 0) {
        received_ = queue;
        received_use_ = use_of{*queue};
        receives_selected_ = (flags & FI_SELECTIVE_COMPLETION) != 0;
    }
    return 0;
}

int active_endpoint::enable()
{
    return events_ == nullptr ? -FI_ENOEQ : transmitted_ == nullptr || received_ == nullptr ? -FI_ENOCQ : 0;
}

int active_endpoint::open()
{
    try {
        fabric_ = in_.endpoint.open(*this);
        return 0;
    } catch (const messaging::messaging_failure &failure) {
        return failure_code("connection", failure);
    }
}

int active_endpoint::connect(const messaging::socket_address &to, std::span<const std::byte> data)
{
    const auto managing = in_.in.connections.lock();
    if (at_ != stage::idle || peer_ || fabric_ != nullptr)
        return -FI_EOPBADSTATE;
    if (const int lacking = enable(); lacking != 0)
        return lacking;
    if (const int error = open(); error != 0)
        return error;
    destination_ = to;
    sent_data_.assign(data.begin(), data.end());
    if (!socket_.connect(to))
        return -FI_ECONNREFUSED;
    at_ = stage::connecting;
    in_.in.connections.add(*this);
    return 0;
}

int active_endpoint::accept(std::span<const std::byte> data)
{
    const auto managing = in_.in.connections.lock();
    if (at_ != stage::idle || !peer_)
        return -FI_EOPBADSTATE;
    if (const int lacking = enable(); lacking != 0)
        return lacking;
    if (const int error = open(); error != 0)
        return error;
    socket_.queue(
        connect_message{.kind = connect_kind::accept, .address = fabric_->address(), .data = {data.begin(), data.end()}}
            .encode());
    at_ = stage::established;
    watches_ = true;
    {
        const auto held = in_.endpoint.lock();
        if (!in_.endpoint.connect(*fabric_, *peer_))
            return -FI_ECONNABORTED;
    }
    if (socket_.send() != messaging::exchange_step::done) // fits into an empty buffer
        return -FI_ECONNABORTED;
    socket_.established();
    in_.in.connections.add(*this);
    return 0;
}

int active_endpoint::shutdown()
{
    auto held = in_.endpoint.lock();
    if (fabric_ == nullptr)
        return -FI_ENOTCONN;
    ready_ = false;
    over_ = true;
    if (is_transferring()) { // the program's memory is its own again when this returns
        messaging::fabric_connection *const gone = std::exchange(fabric_, nullptr);
        in_.endpoint.cut({&gone, 1}, held);
    } else {
        ring().farewell();
    }
    end_transfers(FI_ECANCELED);
    return 0;
}

void active_endpoint::wants(std::vector<pollfd> &descriptors, clock::time_point &due)
{
    const auto wait_for = [&](int events) {
        descriptors.push_back({.fd = socket_.fd(), .events = static_cast<short>(events), .revents = 0});
    };
    switch (at_) {
    case stage::connecting:
    case stage::asking:
        wait_for(POLLOUT);
        break;
    case stage::waiting:
        wait_for(POLLIN);
        break;
    case stage::established:
        if (watches_)
            wait_for(POLLRDHUP);
        if (left_at_)
            due = std::min(due, *left_at_ + grace);
        break;
    case stage::idle:
    case stage::ended:
        break;
    }
}

void active_endpoint::proceed(clock::time_point now)
{
    if (at_ == stage::established)
        look_for_end(now);
    else if (at_ != stage::ended)
        exchange();
}

void active_endpoint::exchange()
{
    using enum messaging::exchange_step;
    messaging::exchange_step step = done;
    if (at_ == stage::connecting) {
        step = socket_.finish_connect();
        if (step == done) {
            socket_.queue(
                connect_message{.kind = connect_kind::request, .address = fabric_->address(), .data = sent_data_}
                    .encode());
            at_ = stage::asking;
        }
    }
    if (at_ == stage::asking) {
        step = socket_.send();
        if (step == done)
            at_ = stage::waiting;
    }
    if (at_ == stage::waiting) {
        step = socket_.receive(connect_message::encoded_bytes);
        if (step == done)
            answered();
    }
    if (step == failed)
        refuse(FI_ECONNREFUSED);
}

void active_endpoint::answered()
{
    auto said = connect_message::decode(socket_.received());
    if (!said || said->kind != connect_kind::accept || !said->address) {
        refuse(FI_ECONNREFUSED, said ? std::span<const std::byte>{said->data} : std::span<const std::byte>{});
        return;
    }
    at_ = stage::established;
    watches_ = true;
    socket_.established();
    const auto held = in_.endpoint.lock();
    peer_data_ = std::move(said->data);
    if (!over_)
        (void)in_.endpoint.connect(*fabric_, *said->address); // else on_failure() is called
}

void active_endpoint::refuse(int error, std::span<const std::byte> data)
{
    FI_INFO(&provider(), FI_LOG_EP_CTRL, "connecting to %s: %s\n",
            destination_ ? destination_->text().c_str() : "a far end",
            socket_.why().empty() ? "refused" : socket_.why().c_str());
    at_ = stage::ended;
    events_->failure(&fid, error, data);
}

void active_endpoint::look_for_end(clock::time_point now)
{
    pollfd end{.fd = socket_.fd(), .events = POLLRDHUP, .revents = 0};
    if (watches_ && ::poll(&end, 1, 0) > 0) {
        watches_ = false;
        if (socket_.ended())
            left_at_ = now;
    }
    if (!left_at_ || now - *left_at_ < grace)
        return;
    left_at_.reset();
    const auto held = in_.endpoint.lock();
    if (!over_)
        ring().fail("its process has ended, or failed");
}

void active_endpoint::on_connected()
{
    if (over_)
        return;
    ready_ = true;
    events_->connection_event(FI_CONNECTED, &fid, nullptr, peer_data_);
}

void active_endpoint::on_closed()
{
    end_transfers(FI_ECANCELED);
    events_->connection_event(FI_SHUTDOWN, &fid);
}

void active_endpoint::on_failure(const std::string &why)
{
    FI_WARN(&provider(), FI_LOG_EP_DATA, "%s: %s: %s\n", in_.endpoint.text().c_str(),
            destination_ ? destination_->text().c_str() : "a far end", why.c_str());
    const bool told = over_;
    end_transfers(FI_ECONNABORTED);
    if (!told && events_ != nullptr)
        events_->connection_event(FI_SHUTDOWN, &fid);
}

void active_endpoint::end_transfers(int error)
{
    ready_ = false;
    over_ = true;
    while (!outgoing_.empty())
        complete(outgoing_.begin()->first, error);
    arriving_.clear();
    for (wanted &one : wanted_)
        if (!one.done)
            finish(one, FI_ECANCELED);
    complete_receives();
    untaken_.clear();
}

} // namespace mrc::fi_provider
