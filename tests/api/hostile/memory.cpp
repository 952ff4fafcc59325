// SPDX-License-Identifier: Apache-2.0
// Memory that goes away after it was registered, and files that are no memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "attacks.h"

namespace mrc::hostile
{

using clock = std::chrono::steady_clock;

namespace
{

constexpr std::uint32_t shared_depth = 16;
constexpr std::size_t bytes = 4 << 20;
constexpr std::uint32_t message = 64 << 10;
constexpr std::size_t page = 4096;

void *fresh_memory()
{
    void *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    REQUIRE(at != MAP_FAILED);
    return at;
}

struct traffic {
    explicit traffic(const targets &where) : here{where.attacked, shared_depth}, there{where.other, shared_depth}
    {
        connect(here, there);
    }

    // Writes of `from` to `to`, from end to end, as many as fit into the queue.
    static void flood(raw_client &by, const raw_region &from, const raw_region &to)
    {
        session::send_entry entry;
        entry.rkey = to.key;
        entry.flags = session::send_signaled;
        entry.pieces = 1;
        for (std::uint32_t n = 0; n < shared_depth; ++n) {
            entry.remote_address = to.address + std::uint64_t{n} * message;
            entry.first = {.address = from.address + std::uint64_t{n} * message, .length = message, .lkey = from.key};
            REQUIRE(by.post(entry));
        }
        by.ring();
    }

    // Everything completes, with an error from some request on: nothing is left waiting for ever.
    static bool ends_in_error(raw_client &by)
    {
        std::uint8_t last = 0;
        for (std::uint32_t n = 0; n < shared_depth; ++n)
            last = by.next_status();
        return last != 0;
    }

    raw_client here;
    raw_client there;
};

enum class aftermath { error, success };

// The source at the attacked daemon vanishes while it sends, the target there while it is written to.
template <typename Remove>
void lose_process_memory(const targets &where, aftermath expected, Remove remove)
{
    for (const bool target_goes : {false, true}) {
        traffic run{where};
        void *const going = fresh_memory();
        void *const staying = fresh_memory();
        raw_client &sender = target_goes ? run.there : run.here;
        raw_client &receiver = target_goes ? run.here : run.there;
        const raw_region from = sender.register_process(target_goes ? staying : going, bytes);
        const raw_region to = receiver.register_process(target_goes ? going : staying, bytes);
        traffic::flood(sender, from, to);
        REQUIRE(sender.next_status() == 0);
        remove(going); // the last of the requests reach what is gone
        for (std::uint32_t n = 1; n < shared_depth; ++n)
            (void)sender.next_status();
        traffic::flood(sender, from, to);
        REQUIRE(traffic::ends_in_error(sender) == (expected == aftermath::error));
        ::munmap(going, bytes);
        ::munmap(staying, bytes);
    }
}

// Only what has been written is no hole.
bool write_all(int file)
{
    const std::vector<std::byte> zeros(bytes);
    return ::pwrite(file, zeros.data(), zeros.size(), 0) == static_cast<ssize_t>(bytes);
}

kernel::unique_fd memfd(int seals)
{
    kernel::unique_fd file{::memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    REQUIRE(file && ::ftruncate(file.get(), bytes) == 0 && write_all(file.get()));
    REQUIRE(seals == 0 || ::fcntl(file.get(), F_ADD_SEALS, seals) == 0);
    return file;
}

// Memory that the daemon maps: it cannot shrink, and loses its pages all the same.
void punch_holes(const attack_terms &terms)
{
    REQUIRE(!raw_client(terms.where.attacked, shared_depth).register_file(memfd(0).get(), bytes).done());
    const kernel::unique_fd sparse = memfd(F_SEAL_SHRINK);
    REQUIRE(::fallocate(sparse.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes) == 0);
    REQUIRE(!raw_client(terms.where.attacked, shared_depth).register_file(sparse.get(), bytes).done());
    traffic run{terms.where};
    const kernel::unique_fd file = memfd(F_SEAL_SHRINK);
    const raw_reply mapped = run.here.register_file(file.get(), bytes);
    REQUIRE(mapped.done());
    REQUIRE(::ftruncate(file.get(), 0) != 0);
    const raw_region from{.key = mapped.body.number, .address = 0};
    void *const target = fresh_memory();
    const raw_region to = run.there.register_process(target, bytes);
    std::atomic<bool> over = false;
    std::thread puncher{[&] {
        while (!over)
            REQUIRE(::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes) == 0);
    }};
    for (const auto end = clock::now() + terms.time / 4; clock::now() < end;) {
        traffic::flood(run.here, from, to);
        for (std::uint32_t n = 0; n < shared_depth; ++n)
            REQUIRE(run.here.next_status() == 0);
    }
    over = true;
    puncher.join();
    ::munmap(target, bytes);
}

} // namespace

void take_memory_away(const attack_terms &terms)
{
    for (const auto end = clock::now() + terms.time / 2; clock::now() < end;) {
        lose_process_memory(terms.where, aftermath::error, [](void *at) { REQUIRE(::munmap(at, bytes) == 0); });
        // A page in the midst of what is read and written at once.
        lose_process_memory(terms.where, aftermath::error, [](void *at) {
            REQUIRE(::munmap(static_cast<std::byte *>(at) + std::size_t{shared_depth} / 2 * message + page, page) == 0);
        });
        lose_process_memory(terms.where, aftermath::error, [](void *at) { // a file without these pages
            const kernel::unique_fd empty{::memfd_create("empty", MFD_CLOEXEC)};
            REQUIRE(empty && ::mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, empty.get(), 0) == at);
        });
        // As pages that a NIC has pinned: protection is the process's own affair.
        lose_process_memory(terms.where, aftermath::success,
                            [](void *at) { REQUIRE(::mprotect(at, bytes, PROT_NONE) == 0); });
    }
    punch_holes(terms);
}

void share_one_file(const attack_terms &terms)
{
    const kernel::unique_fd file = memfd(F_SEAL_SHRINK);
    traffic run{terms.where};
    for (const std::uint64_t offset : {std::uint64_t{bytes}, std::uint64_t{page}, UINT64_MAX - page + 1})
        REQUIRE(!run.there.register_file(file.get(), bytes, offset).done()); // beyond the end
    // The first half is a client's, the other half another's: what comes to be written to the one ends there.
    constexpr std::size_t half = bytes / 2;
    const raw_client owner{terms.where.other, shared_depth};
    REQUIRE(owner.register_file(file.get(), half, half).done());
    const raw_reply first = run.there.register_file(file.get(), half);
    REQUIRE(first.done());
    std::vector<std::byte> source(message, std::byte{0xD7});
    const raw_region from = run.here.register_process(source.data(), source.size());
    std::atomic<bool> over = false;
    std::thread puncher{[&] { // of what is the attacker's
        while (!over)
            REQUIRE(::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, half) == 0);
    }};
    const auto write_at = [&](std::uint64_t offset) {
        session::send_entry entry;
        entry.remote_address = offset;
        entry.rkey = first.body.number;
        entry.flags = session::send_signaled;
        entry.pieces = 1;
        entry.first = {.address = from.address, .length = message, .lkey = from.key};
        REQUIRE(run.here.post(entry));
        run.here.ring();
    };
    for (const auto end = clock::now() + terms.time; clock::now() < end;) {
        for (std::uint32_t n = 1; n <= shared_depth; ++n)
            write_at((half - message) / n);
        for (std::uint32_t n = 1; n <= shared_depth; ++n)
            REQUIRE(run.here.next_status() == 0);
    }
    over = true;
    puncher.join();
    write_at(half - message + 1);
    REQUIRE(run.here.next_status() != 0);
    std::vector<std::byte> found(half);
    REQUIRE(::pread(file.get(), found.data(), half, half) == static_cast<ssize_t>(half));
    REQUIRE(std::ranges::all_of(found, [](std::byte one) { return one == std::byte{}; }));
}

void offer_any_file(const attack_terms &terms)
{
    const raw_client client{terms.where.attacked, shared_depth};
    std::array<int, 2> ends{};
    std::vector<kernel::unique_fd> files;
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    files.emplace_back(ends[0]);
    files.emplace_back(ends[1]);
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    files.emplace_back(ends[0]);
    files.emplace_back(ends[1]);
    for (const char *path : {"/dev/null", "/dev/zero", "/proc/self/maps", "/proc/self/mem", "/etc/passwd", "/dev/fuse"})
        files.emplace_back(::open(path, O_RDONLY | O_CLOEXEC));
    files.emplace_back(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    files.emplace_back(::open("/etc/passwd", O_PATH | O_CLOEXEC));
    files.emplace_back(::epoll_create1(EPOLL_CLOEXEC));
    session::session_request hello;
    for (const kernel::unique_fd &file : files) {
        if (!file) // this system has no such file
            continue;
        REQUIRE(!client.register_file(file.get(), bytes).done());
        REQUIRE(!raw_session{terms.where.attacked}.ask(hello, file.get()).done());
    }
}

} // namespace mrc::hostile
