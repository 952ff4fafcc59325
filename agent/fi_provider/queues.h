// SPDX-License-Identifier: Apache-2.0
// Event queues and completion queues of libfabric: lists with a lock each, and a descriptor that is readable while
// there is something in them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

#include "fi_provider/users.h"
#include "kernel/giving_way.h"
#include "kernel/unique_fd.h"
#include "messaging/fabric_endpoint.h"

namespace mrc::fi_provider
{

// A descriptor to wait by: set while a queue has entries.
class wait_fd
{
public:
    wait_fd(); // throws messaging_failure
    void set() const;
    void clear() const;
    // False: timeout_ms are over; below 0 waits without a limit.
    [[nodiscard]] bool wait(int timeout_ms) const;
    [[nodiscard]] int fd() const { return fd_.get(); }

private:
    kernel::unique_fd fd_;
};

class fi_event_queue : public fid_eq, public used
{
public:
    fi_event_queue(used &fabric, void *context);
    fi_event_queue(const fi_event_queue &) = delete;
    fi_event_queue &operator=(const fi_event_queue &) = delete;
    ~fi_event_queue();

    // `info` is the reader's from then on.
    void connection_event(std::uint32_t event, fid_t of, fi_info *info = nullptr, std::span<const std::byte> data = {});
    void failure(fid_t of, int error, std::span<const std::byte> data = {});

    ssize_t read(std::uint32_t *event, void *into, std::size_t bytes, std::uint64_t flags);
    ssize_t read_failure(fi_eq_err_entry *into, std::uint64_t flags);
    ssize_t wait(std::uint32_t *event, void *into, std::size_t bytes, int timeout_ms, std::uint64_t flags);
    [[nodiscard]] int fd() const { return ready_.fd(); }
    [[nodiscard]] static bool has_fd() { return true; }
    [[nodiscard]] bool empty();
    void forget(fid_t of); // events of an object that is closed

private:
    struct entry {
        std::uint32_t event = 0;
        int error = 0; // above 0: a failure
        fid_t of = nullptr;
        fi_info *info = nullptr;
        std::vector<std::byte> data;
    };
    void add(entry what);
    static void drop(const entry &one);

    use_of fabric_use_;
    std::mutex mutex_;
    std::deque<entry> entries_;
    std::vector<std::byte> told_; // data of the failure that was read last
    wait_fd ready_;
};

// Told when the program has read a completion, with no lock held.
class completion_reader
{
public:
    virtual ~completion_reader() = default;
    virtual void on_read() = 0;
};

class completion_queue : public fid_cq, public used
{
public:
    // `by` brings completions to who reads when there are none.
    completion_queue(used &domain, messaging::fabric_endpoint &by, const fi_cq_attr &attributes, void *context);

    // `reader`, if there is one, is told once it is read; kept as long as the entry.
    void add(const fi_cq_tagged_entry &done, std::shared_ptr<completion_reader> reader = {});
    void add_failure(const fi_cq_err_entry &failed);

    ssize_t read(void *into, std::size_t count);
    ssize_t read_failure(fi_cq_err_entry *into);
    ssize_t wait(void *into, std::size_t count, int timeout_ms);
    [[nodiscard]] int fd() const { return ready_.fd(); }
    [[nodiscard]] bool has_fd() const { return waits_; }
    [[nodiscard]] bool empty();
    // Its reader is going to wait for the descriptor.
    void stop_polling() { by_.stop_polling(); }
    void signal() const { ready_.set(); }

private:
    struct entry {
        fi_cq_err_entry what; // err 0: a success
        std::shared_ptr<completion_reader> reader;
    };
    void add_entry(entry one);
    ssize_t read_at_hand(void *into, std::size_t count);

    use_of domain_use_;
    messaging::fabric_endpoint &by_;
    std::size_t entry_bytes_;
    bool waits_;
    kernel::giving_way core_; // what a program waits for may need this very one
    std::mutex mutex_;
    std::deque<entry> entries_;
    wait_fd ready_;
};

} // namespace mrc::fi_provider
