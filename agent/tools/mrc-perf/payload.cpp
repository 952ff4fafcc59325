// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/payload.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "kernel/unique_fd.h"
#include "tools/mrc-perf/error.h"
#include "tools/mrc-perf/sha256.h"

namespace mrc::perf
{

namespace
{

// Every 64-bit word of every message differs, so a byte at a wrong place, or of an older message, shows.
std::uint64_t pattern_word(std::uint64_t message, std::uint64_t word)
{
    return (message * 0x9e3779b97f4a7c15 + word + 1) * 0xd1342543de82ef95;
}

void fill_pattern(std::uint64_t message, std::span<std::byte> into)
{
    for (std::size_t at = 0; at < into.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t word = pattern_word(message, at / sizeof(std::uint64_t));
        std::memcpy(&into[at], &word, std::min(sizeof(word), into.size() - at));
    }
}

class constant_source final : public message_source
{
public:
    void fill(std::uint64_t, std::span<std::byte>) override {} // memory was filled once, before the run
};

class pattern_source final : public message_source
{
public:
    void fill(std::uint64_t message, std::span<std::byte> into) override { fill_pattern(message, into); }
};

class file_source final : public message_source
{
public:
    explicit file_source(const std::string &path) : path_{path}, file_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)}
    {
        if (!file_)
            throw perf_error{fmt::format("cannot read '{}': {}", path, std::strerror(errno))};
        ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    }

    void fill(std::uint64_t, std::span<std::byte> into) override
    {
        for (std::size_t done = 0; done < into.size();) {
            const ssize_t got = ::read(file_.get(), &into[done], into.size() - done);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                throw perf_error{fmt::format("cannot read '{}': {}", path_,
                                             got == 0 ? "it became shorter meanwhile" : std::strerror(errno))};
            done += static_cast<std::size_t>(got);
        }
        digest_.add(into);
    }

    std::string sha256() override { return digest_.digest(); }

private:
    std::string path_;
    kernel::unique_fd file_;
    perf::sha256 digest_;
};

class ignoring_sink final : public payload_sink
{
public:
    void take(std::uint64_t, std::span<const std::byte>) override {}
    payload_verdict judge(const std::string &) override { return {}; }
};

class pattern_sink final : public payload_sink
{
public:
    void take(std::uint64_t message, std::span<const std::byte> bytes) override
    {
        expected_.resize(bytes.size());
        fill_pattern(message, expected_);
        if (std::memcmp(expected_.data(), bytes.data(), bytes.size()) == 0)
            return;
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            if (bytes[at] == expected_[at])
                continue;
            if (wrong_bytes_++ == 0)
                first_ = fmt::format("the first is byte {} of message {}", at, message);
        }
    }

    payload_verdict judge(const std::string &) override
    {
        payload_verdict result{.verified = wrong_bytes_ == 0, .sha256 = {}, .complaint = {}};
        if (wrong_bytes_ != 0)
            result.complaint = fmt::format("{} bytes are not what was sent; {}", wrong_bytes_, first_);
        return result;
    }

private:
    std::vector<std::byte> expected_;
    std::uint64_t wrong_bytes_ = 0;
    std::string first_;
};

// Stores beside the goal, and moves there only what has proved right.
class file_sink final : public payload_sink
{
public:
    explicit file_sink(std::string path) : path_{std::move(path)}
    {
        if (path_.empty())
            return;
        file_.reset(::open(part().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
        if (!file_)
            throw perf_error{fmt::format("cannot write '{}': {}", part(), std::strerror(errno))};
    }
    file_sink(const file_sink &) = delete;
    file_sink &operator=(const file_sink &) = delete;
    ~file_sink() override
    {
        if (file_) // neither judged nor right
            ::unlink(part().c_str());
    }

    void take(std::uint64_t, std::span<const std::byte> bytes) override
    {
        digest_.add(bytes);
        while (file_ && !bytes.empty()) {
            const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR)
                continue;
            if (written <= 0)
                throw perf_error{fmt::format("cannot write '{}': {}", part(), std::strerror(errno))};
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
    }

    payload_verdict judge(const std::string &sender_sha256) override
    {
        payload_verdict result{.verified = false, .sha256 = digest_.digest(), .complaint = {}};
        result.verified = result.sha256 == sender_sha256;
        if (!*result.verified) {
            result.complaint = "the SHA-256 of what arrived differs from the sender's";
        } else if (file_) {
            if (::rename(part().c_str(), path_.c_str()) != 0)
                throw perf_error{fmt::format("cannot write '{}': {}", path_, std::strerror(errno))};
            file_.reset();
        }
        return result;
    }

private:
    [[nodiscard]] std::string part() const { return path_ + ".part"; }

    std::string path_;
    kernel::unique_fd file_;
    perf::sha256 digest_;
};

} // namespace

std::unique_ptr<message_source> make_source(const test_plan &plan, const std::string &file)
{
    if (plan.mode == test_mode::file)
        return std::make_unique<file_source>(file);
    if (plan.verify)
        return std::make_unique<pattern_source>();
    return std::make_unique<constant_source>();
}

std::unique_ptr<payload_sink> make_sink(const test_plan &plan, const std::string &output)
{
    if (plan.mode == test_mode::file)
        return std::make_unique<file_sink>(output);
    if (plan.verify)
        return std::make_unique<pattern_sink>();
    return std::make_unique<ignoring_sink>();
}

} // namespace mrc::perf
