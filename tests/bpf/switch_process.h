// SPDX-License-Identifier: Apache-2.0
//
// mrc-switch as a process of the current network namespace, for tests: started with a configuration, waited for, ended.
#ifndef MRC_TESTS_BPF_SWITCH_PROCESS_H
#define MRC_TESTS_BPF_SWITCH_PROCESS_H

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace mrc::test
{

inline const std::string switch_binary = std::string(MRC_BIN_DIR) + "/mrc-switch";

struct command_result {
    int status = -1; // exit status
    std::string output;
};

// A command's standard output and error, and how it ended.
inline command_result run_command(const std::string &command)
{
    command_result result;
    std::string line(4096, '\0');
    FILE *pipe = popen((command + " 2>&1").c_str(), "r");

    if (pipe == nullptr)
        throw std::runtime_error("popen " + command);
    while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr)
        result.output += line.c_str();
    const int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return result;
}

class switch_process
{
public:
    explicit switch_process(const std::string &config_path)
    {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) != 0)
            throw std::runtime_error("pipe");
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            dup2(ends[1], STDOUT_FILENO);
            dup2(ends[1], STDERR_FILENO);
            execl(switch_binary.c_str(), "mrc-switch", "run", "--config", config_path.c_str(), nullptr);
            _exit(127);
        }
        close(ends[1]);
        output_ = ends[0];
        pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    }
    switch_process(const switch_process &) = delete;
    switch_process &operator=(const switch_process &) = delete;
    ~switch_process()
    {
        if (pid_ > 0)
            end(SIGTERM);
        close(output_);
        close(pidfd_);
    }

    // The first line it prints within the deadline: READY, or why not.
    [[nodiscard]] std::string first_line() const
    {
        std::string line;
        pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
        char letter = 0;

        while (poll(&ready, 1, deadline_ms) == 1 && read(output_, &letter, 1) == 1 && letter != '\n')
            line += letter;
        return line;
    }

    // Signals it and waits; the status that waitpid reports, or -1 when it does not end in time.
    int end(int signal)
    {
        pollfd gone{.fd = pidfd_, .events = POLLIN, .revents = 0};
        int status = -1;

        kill(pid_, signal);
        if (poll(&gone, 1, deadline_ms) != 1) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        } else {
            waitpid(pid_, &status, 0);
        }
        pid_ = -1;
        return status;
    }

private:
    static constexpr int deadline_ms = 5000;

    pid_t pid_ = -1;
    int pidfd_ = -1;
    int output_ = -1;
};

} // namespace mrc::test

#endif
