// SPDX-License-Identifier: Apache-2.0
// A network namespace for one test, with a second one for the far ends of its links. Both vanish with their processes,
// also when the test crashes.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mrc::test
{

class near_and_far_network
{
public:
    // The calling thread moves into the namespace and goes back at the end.
    near_and_far_network() : before_{open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)}
    {
        enter_new();
        far_ = start_far_side();
    }
    ~near_and_far_network()
    {
        kill(far_, SIGKILL);
        waitpid(far_, nullptr, 0);
        (void)setns(before_, CLONE_NEWNET);
        close(before_);
    }
    near_and_far_network(const near_and_far_network &) = delete;
    near_and_far_network &operator=(const near_and_far_network &) = delete;

    // ip(8) on the near side; throws when it fails.
    void ip(const std::string &arguments) const { run("ip " + arguments); }
    // Any command on the near side.
    void near(const std::string &command) const { run(command); }
    // Any command on the far side.
    void far(const std::string &command) const
    {
        run("nsenter --target=" + std::to_string(far_) + " --net " + command);
    }
    void far_ip(const std::string &arguments) const { far("ip " + arguments); }

    // A veth pair, down: `near` here, `peer` on the far side.
    void add_link(const std::string &near, const std::string &peer) const
    {
        ip("link add " + near + " type veth peer name " + peer + " netns " + std::to_string(far_));
    }

    void move_far(const std::string &device) const { ip("link set " + device + " netns " + std::to_string(far_)); }
    void move_near(const std::string &device) const
    {
        far_ip("link set " + device + " netns " + std::to_string(getpid()));
    }

private:
    static void enter_new()
    {
        if (unshare(CLONE_NEWNET) != 0)
            throw std::system_error{errno, std::generic_category(), "unshare(CLONE_NEWNET)"};
    }

    // A child that only holds the far namespace open.
    static pid_t start_far_side()
    {
        int ready[2];
        if (pipe2(ready, O_CLOEXEC) != 0)
            throw std::system_error{errno, std::generic_category(), "pipe"};
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            const char outcome = unshare(CLONE_NEWNET) == 0 ? 1 : 0;
            if (write(ready[1], &outcome, 1) == 1 && outcome == 1)
                for (;;)
                    pause();
            _exit(1);
        }
        char outcome = 0;
        const bool is_ready = child > 0 && read(ready[0], &outcome, 1) == 1 && outcome == 1;
        close(ready[0]);
        close(ready[1]);
        if (!is_ready)
            throw std::system_error{errno, std::generic_category(), "far namespace"};
        return child;
    }

    static void run(const std::string &command)
    {
        if (std::system(command.c_str()) != 0)
            throw std::runtime_error{command};
    }

    int before_;
    pid_t far_ = -1;
};

} // namespace mrc::test
