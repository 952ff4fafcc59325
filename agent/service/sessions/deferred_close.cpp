// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/deferred_close.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <csignal>
#include <pthread.h>

namespace mrc::service
{

struct deferred_close::queue {
    std::mutex lock;
    std::condition_variable changed;
    std::vector<kernel::unique_fd> waiting;
    bool ended = false;

    // The next lot, when there is one; none at the end.
    std::vector<kernel::unique_fd> next()
    {
        std::unique_lock held{lock};
        changed.wait(held, [this] { return !waiting.empty() || ended; });
        return std::exchange(waiting, {});
    }
};

deferred_close::~deferred_close()
{
    if (queue_ == nullptr)
        return;
    const std::scoped_lock held{queue_->lock};
    queue_->ended = true;
    queue_->changed.notify_one();
}

bool deferred_close::add(kernel::unique_fd descriptor)
{
    if (queue_ == nullptr) {
        auto made = std::make_shared<queue>();
        std::thread{[made] {
            sigset_t all;
            ::sigfillset(&all);
            ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
            ::pthread_setname_np(::pthread_self(), "mrc-close");
            while (!made->next().empty()) // closed where it goes out of scope
                continue;
        }}.detach();
        queue_ = std::move(made);
    }
    const std::scoped_lock held{queue_->lock};
    queue_->waiting.push_back(std::move(descriptor));
    queue_->changed.notify_one();
    return queue_->waiting.size() <= most_waiting;
}

} // namespace mrc::service
