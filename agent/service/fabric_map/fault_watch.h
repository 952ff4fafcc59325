// SPDX-License-Identifier: Apache-2.0
// What this host's loops find and what other hosts report, put together: reports come and go (report_socket.h) as
// report_exchange.h says, fault_merge.h says what they add up to, fault_board.h when that is named, and the rows of
// `fabric_faults` show it. On the fabric map's thread, but for know().
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "kernel/host_tables.h"
#include "service/config/config.h"
#include "service/fabric_map/fault_board.h"
#include "service/fabric_map/report_exchange.h"
#include "service/fabric_map/report_socket.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

class fault_watch
{
public:
    struct surroundings {
        const daemon_config &config;
        const fabric_rules &rules;         // borrowed
        const kernel::host_tables &tables; // borrowed
        std::function<void(const fault_change &)> on_fault;
    };
    // Throws startup_error.
    explicit fault_watch(surroundings around);

    // The hosts to exchange reports with, from any thread.
    void know(std::vector<host_place> hosts);
    // Why no reports are received, though they are to be: errno; 0: they are.
    [[nodiscard]] int problem() const { return socket_ ? socket_->problem() : 0; }
    // Readable: receive() has something to do. -1: there is none.
    [[nodiscard]] int fd() const { return socket_ ? socket_->fd() : -1; }
    void receive(protocol::instant now);
    // What this host's own loops find now; its run and number are given here.
    void evaluate(link_report own, protocol::instant now);
    [[nodiscard]] const fault_board &board() const { return board_; }

private:
    void take_over_known();
    void send_reports(protocol::instant now);
    [[nodiscard]] std::optional<report_socket::way> way_to(host_place host);
    [[nodiscard]] std::vector<fabric_fault> found() const;
    void show() const;

    surroundings around_;
    host_place self_;
    std::optional<report_socket> socket_; // none: reports are not exchanged
    report_exchange exchange_;
    fault_board board_;
    link_report own_;
    std::uint32_t turn_ = 0; // of ways that reports go
    std::mutex mutex_;
    std::optional<std::vector<host_place>> fresh_; // hosts to be known from the next round on; under mutex_
};

} // namespace mrc::service
