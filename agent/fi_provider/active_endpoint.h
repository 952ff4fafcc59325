// SPDX-License-Identifier: Apache-2.0
// FI_EP_MSG: a connection of agent/messaging, the TCP connection beside it, and the transfers under way.
//
// What concerns connecting has the manager's lock, transfers that of the domain's messaging::fabric_endpoint, which
// also calls the listener's functions: a thread of that carries transfers on, whatever the program does.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include "fi_provider/connect_message.h"
#include "fi_provider/domain.h"
#include "fi_provider/passive_endpoint.h"
#include "fi_provider/transfer_head.h"
#include "messaging/exchange_socket.h"

namespace mrc::fi_provider
{

// Sends that no receive of the far end has taken yet, whose bytes it keeps, and writes with data whose completions its
// program has not read.
inline constexpr std::uint32_t most_untaken = 256;

// What every call of libfabric for a transfer says.
struct transfer_call {
    void *data = nullptr;
    std::size_t bytes = 0;
    void *context = nullptr;
    std::uint64_t flags = 0; // FI_COMPLETION, FI_INJECT, FI_REMOTE_CQ_DATA
    std::uint64_t remote_data = 0;
    std::uint64_t address = 0; // at the far end, of FI_RMA
    std::uint64_t key = 0;
    bool silent = false; // by fi_inject and its like: no completion tells of its success
};

class active_endpoint : public fid_ep, private messaging::connection_listener, private managed
{
public:
    active_endpoint(domain &in, const fi_info &info, void *context); // throws messaging_failure
    ~active_endpoint() override;

    int bind(fid_t what, std::uint64_t flags);
    int enable();
    int connect(const messaging::socket_address &to, std::span<const std::byte> data);
    int accept(std::span<const std::byte> data);
    int shutdown();
    [[nodiscard]] const std::optional<messaging::socket_address> &source() const { return source_; }
    [[nodiscard]] const std::optional<messaging::socket_address> &destination() const { return destination_; }

    ssize_t receive(const transfer_call &call);
    ssize_t send(const transfer_call &call);
    ssize_t write(const transfer_call &call);
    ssize_t read(const transfer_call &call);
    ssize_t cancel(const void *context);

    [[nodiscard]] std::uint64_t transmit_flags() const { return transmit_flags_; }
    [[nodiscard]] std::uint64_t receive_flags() const { return receive_flags_; }

private:
    enum class stage : std::uint8_t { idle, connecting, asking, waiting, established, ended };

    // A receive: in the order in which they were posted they are given a send, and complete.
    struct wanted {
        transfer_call call;
        bool taken = false;
        bool done = false;
        fi_cq_err_entry completion{};
        messaging::held_range range; // of an announced send
    };
    struct untaken { // a send that came before its receive
        transfer_head head;
        std::vector<std::byte> bytes;
    };
    enum class awaited : std::uint8_t {
        delivery, // of what has been posted
        go,       // or no_go, to an announced send
        data,     // what is read, or that it cannot be
    };
    struct outgoing {
        transfer_call call;
        std::uint64_t completion_flags = 0;
        awaited next = awaited::delivery;
        messaging::held_range range;
    };

    struct unread_write;

    // managed:
    void wants(std::vector<pollfd> &descriptors, clock::time_point &due) override;
    void proceed(clock::time_point now) override;
    void exchange();
    void answered();
    void look_for_end(clock::time_point now);
    void refuse(int error, std::span<const std::byte> data = {});
    int open();

    // connection_listener:
    void on_connected() override;
    void on_message(std::span<const std::byte> message) override;
    void on_arrival(std::uint32_t value, std::uint64_t bytes) override;
    void on_closed() override;
    void on_failure(const std::string &why) override;
    [[nodiscard]] bool waits() const override { return ready_; }

    [[nodiscard]] outgoing *answered_by(const transfer_head &head, awaited what);
    void take(wanted &by, const transfer_head &head, std::span<const std::byte> bytes);
    void announced(wanted &by, const transfer_head &head);
    void let_go(const transfer_head &head);
    void give(const transfer_head &head);
    void written(const transfer_head &head);
    void return_untaken(std::uint32_t count);
    [[nodiscard]] bool may_answer();
    void answer(const transfer_head &head);
    void finish(wanted &one, int error = 0);
    void complete_receives();
    void complete(std::uint32_t id, int error = 0);
    void end_transfers(int error);
    [[nodiscard]] int may_transmit(const transfer_call &call) const;
    [[nodiscard]] std::uint32_t begin(const transfer_call &call, std::uint64_t completion_flags,
                                      awaited next = awaited::delivery);
    void tell(const transfer_head &head) { ring().send(head.encode(), {}); }
    [[nodiscard]] std::uint32_t next_id();
    // The far end or the daemon may still use memory of the program. `fabric_` is there.
    [[nodiscard]] bool is_transferring()
    {
        return !outgoing_.empty() || !arriving_.empty() || ring().writes_under_way();
    }
    [[nodiscard]] messaging::ring_connection &ring() { return fabric_->ring(); }
    [[nodiscard]] messaging::held_range region(const void *data, std::size_t bytes, messaging::region_use use);

    domain &in_;
    fi_event_queue *events_ = nullptr;
    completion_queue *transmitted_ = nullptr;
    completion_queue *received_ = nullptr;
    use_of domain_use_;
    use_of events_use_;
    use_of transmitted_use_;
    use_of received_use_;
    bool transmits_selected_ = false; // only those with FI_COMPLETION complete
    bool receives_selected_ = false;
    std::uint64_t transmit_flags_;
    std::uint64_t receive_flags_;

    stage at_ = stage::idle;
    std::optional<messaging::socket_address> source_;
    std::optional<messaging::socket_address> destination_;
    messaging::exchange_socket socket_;
    std::optional<messaging::peer_address> peer_; // of a request, until it is accepted
    std::vector<std::byte> sent_data_;
    std::vector<std::byte> peer_data_;         // for FI_CONNECTED
    bool watches_ = false;                     // the TCP connection, for its end
    std::optional<clock::time_point> left_at_; // when the far end was seen to have gone

    messaging::fabric_connection *fabric_ = nullptr;
    bool ready_ = false; // to transfer
    bool over_ = false;  // and for good not
    std::list<wanted> wanted_;
    std::deque<untaken> untaken_;
    messaging::credit_account untaken_credit_{most_untaken, most_untaken};
    std::uint32_t unread_writes_ = 0; // of the far end, with data
    std::shared_ptr<unread_write> write_reader_;
    std::uint32_t answers_ = 0; // to the far end's transfers, not delivered yet
    std::uint32_t last_id_ = 0;
    std::unordered_map<std::uint32_t, outgoing> outgoing_;
    std::unordered_map<std::uint32_t, wanted *> arriving_; // announced sends; what is read is outgoing_
};

// What completions of the far end's writes with data hold: credit goes back once the program has read them. Outlives
// the endpoint.
struct active_endpoint::unread_write : completion_reader {
    domain &in;
    active_endpoint *of; // null once that is closed; under the domain's lock

    unread_write(domain &used, active_endpoint *endpoint) : in{used}, of{endpoint} {}
    void on_read() override;
};

} // namespace mrc::fi_provider
