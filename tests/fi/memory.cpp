// SPDX-License-Identifier: Apache-2.0
// Writes and reads of the far end's memory: what arrives, what completes, and what is refused.
#include <algorithm>
#include <span>

#include <rdma/fi_errno.h>

#include "fi/ends.h"

namespace mrc::fi_test
{

namespace
{

constexpr std::size_t big = (std::size_t{1} << 20) + 3;
constexpr std::uint64_t as_target = FI_REMOTE_WRITE;
constexpr std::uint64_t as_source = FI_REMOTE_READ;

bool same(const memory &a, std::size_t from, const memory &b, std::size_t at, std::size_t count)
{
    return std::ranges::equal(std::span{a.bytes}.subspan(from, count), std::span{b.bytes}.subspan(at, count));
}

// A WRITE that the far end refuses ends the connection.
void is_refused(const ends &both, const memory &target, const std::vector<std::uint8_t> &before, const char *what)
{
    check(both.one.next().error != 0, what);
    check(both.one.next_event().kind == FI_SHUTDOWN, "and the connection ends");
    check(target.bytes == before, "the far end's memory is as it was");
}

} // namespace

void test_memory(const instances &of)
{
    const ends both{of};
    const memory local{both.one, big, 1, 0};
    memory remote{both.other, big + 200, 2, as_target | as_source};
    const std::vector<std::uint8_t> before = remote.bytes;
    check(::fi_write(both.from.get(), local.bytes.data(), big, nullptr, 0, remote.at(100), remote.key(), nullptr) ==
                  0 &&
              both.one.next().flags == (FI_WRITE | FI_RMA),
          "a write completes");
    check(same(local, 0, remote, 100, big), "its bytes are there");
    check(std::equal(before.begin(), before.begin() + 100, remote.bytes.begin()) &&
              std::equal(before.end() - 100, before.end(), remote.bytes.end() - 100),
          "and nothing else");

    check(::fi_inject_write(both.from.get(), local.bytes.data() + 500, 64, 0, remote.at(0), remote.key()) == 0 &&
              ::fi_writedata(both.from.get(), local.bytes.data() + 900, 10, nullptr, 77, 0, remote.at(64), remote.key(),
                             nullptr) == 0,
          "a write without completion, and one with data for the far end");
    const completion told = both.other.next();
    check(told.flags == (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA) && told.data == 77, "which gets them");
    check(same(local, 500, remote, 0, 64) && same(local, 900, remote, 64, 10), "after the bytes of both");
    check(both.one.next().error == 0 && both.one.has_none() && both.other.has_none(), "one completes at this end");

    memory back{both.one, big, 3, 0};
    check(::fi_read(both.from.get(), back.bytes.data(), big, nullptr, 0, remote.at(100), remote.key(), nullptr) == 0 &&
              both.one.next().flags == (FI_READ | FI_RMA),
          "a read completes");
    check(same(back, 0, remote, 100, big), "and has brought the bytes");

    const iovec part{.iov_base = back.bytes.data(), .iov_len = 32};
    const fi_rma_iov there{.addr = remote.at(7), .len = 32, .key = remote.key()};
    const fi_msg_rma order{.msg_iov = &part,
                           .desc = nullptr,
                           .iov_count = 1,
                           .addr = 0,
                           .rma_iov = &there,
                           .rma_iov_count = 1,
                           .context = nullptr,
                           .data = 0};
    check(::fi_readmsg(both.from.get(), &order, FI_COMPLETION) == 0 && both.one.next().error == 0 &&
              same(back, 0, remote, 7, 32),
          "also by fi_readmsg");
}

void test_regions(const instances &of)
{
    {
        const ends both{of};
        memory back{both.one, 4096, 1, 0};
        const memory source{both.other, 4096, 2, as_source};
        const memory target{both.other, 4096, 3, as_target};
        const std::vector<std::uint8_t> before = source.bytes;
        const auto reads = [&](const memory &from, std::size_t at, std::size_t count) {
            check(::fi_read(both.from.get(), back.bytes.data(), count, nullptr, 0, from.at(at), from.key(), nullptr) ==
                      0,
                  "a read begins");
            return both.one.next().error;
        };
        check(reads(source, 1, 4096) == FI_EACCES, "a read beyond the region fails");
        check(reads(target, 0, 16) == FI_EACCES, "and one of a region that is only to be written");
        check(::fi_write(both.from.get(), back.bytes.data(), 16, nullptr, 0, source.at(0), source.key(), nullptr) ==
                      0 &&
                  both.one.next().error == FI_EACCES && source.bytes == before,
              "a write of a region that is only to be read fails");
        check(reads(source, 0, 4096) == 0 && same(back, 0, source, 0, 4096), "the connection goes on");
    }
    {
        const ends both{of};
        const memory local{both.one, 4096, 1, 0};
        const memory target{both.other, 1000, 2, as_target};
        const auto before = target.bytes;
        check(::fi_write(both.from.get(), local.bytes.data(), 1001, nullptr, 0, target.at(0), target.key(), nullptr) ==
                  0,
              "a write of a byte too many");
        is_refused(both, target, before, "fails");
    }
    {
        const ends both{of};
        const memory local{both.one, 4096, 1, 0};
        memory target{both.other, 4096, 2, as_target};
        const auto before = target.bytes;
        const std::uint64_t key = target.key();
        check(::fi_write(both.from.get(), before.data(), 4096, nullptr, 0, target.at(0), key, nullptr) == 0 &&
                  both.one.next().error == 0,
              "a region is written");
        target.region.reset();
        check(::fi_write(both.from.get(), local.bytes.data(), 16, nullptr, 0, target.at(0), key, nullptr) == 0,
              "and once more when it is closed");
        is_refused(both, target, before, "which fails");
    }
}

void test_credit(const instances &of)
{
    const ends both{of};
    const memory local{both.one, 64, 1, 0};
    const memory target{both.other, 64, 2, as_target};
    const auto write = [&](std::uint64_t data) {
        return ::fi_inject_writedata(both.from.get(), local.bytes.data(), 8, data, 0, target.at(0), target.key());
    };
    std::uint64_t sent = 0;
    while (sent < 1000 && write(sent) == 0)
        ++sent;
    check(sent == 256, "256 writes with data wait for their reader: no more, no fewer");
    for (std::uint64_t number = 0; number < sent; ++number)
        check(both.other.next().data == number, "their data come in order");
    while (write(sent) == -FI_EAGAIN) { // until the credit is back
    }
    check(both.other.next().data == sent && both.other.has_none(), "then there is room for another");
}

} // namespace mrc::fi_test
