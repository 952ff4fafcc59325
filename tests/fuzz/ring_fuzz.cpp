// SPDX-License-Identifier: Apache-2.0
// Shared rings with anything in them, changed between the worker's looks. A client's queue pair is connected to another
// one of its own at a second daemon; the input is a row of commands: words and whole requests written anywhere in the
// rings, the completion ring and the bells, rounds of the workers, changes of state, memory that loses its pages.
//
// Holds for every input: not one byte from outside of the registered regions reaches the peer, and none lands outside
// of them there (both lie between bytes that tell); completions in a ring that nobody else wrote to are those of this
// life, in order; a client beside goes on, with its own memory; nothing of the client is left when it has ended.
#include <cstring>

#include <fcntl.h>

#include "fuzz_input.h"
#include "two_daemons.h"

namespace
{

using namespace mrc;
using namespace mrc::fuzz;
using protocol::qp_state;

constexpr std::uint32_t depth = 8;
constexpr std::size_t region_bytes = 4096;
constexpr std::size_t margin = 512;
constexpr std::uint64_t secret = 0x5EC2'E75E'C2E7'5EC2; // inline bytes of a request could hold it, were it guessed
constexpr std::byte untouched{0xEE};

// Memory with a margin of secrets on both sides of what is registered.
struct guarded_memory {
    guarded_memory() : all(region_bytes + 2 * margin)
    {
        for (std::size_t at = 0; at + sizeof(secret) <= all.size(); at += sizeof(secret))
            std::memcpy(&all[at], &secret, sizeof(secret));
        std::ranges::fill(region(), std::byte{0x11});
    }
    [[nodiscard]] std::span<std::byte> region() { return std::span{all}.subspan(margin, region_bytes); }
    std::vector<std::byte> all;
};

struct target_memory {
    target_memory() : all(region_bytes + 2 * margin, untouched) {}
    [[nodiscard]] std::span<std::byte> region() { return std::span{all}.subspan(margin, region_bytes); }
    void check() const
    {
        const auto is_untouched = [](std::byte byte) { return byte == untouched; };
        demand(std::all_of(all.begin(), all.begin() + margin, is_untouched) &&
                   std::all_of(all.end() - margin, all.end(), is_untouched),
               "bytes have landed outside of a region");
        for (std::size_t at = margin; at + sizeof(secret) <= margin + region_bytes; ++at)
            demand(std::memcmp(&all[at], &secret, sizeof(secret)) != 0, "bytes from outside of a region were sent");
    }
    std::vector<std::byte> all;
};

class attack
{
public:
    attack(daemon_in_memory &here, daemon_in_memory &there, const honest_pair &beside)
        : here_{here}, there_{there}, near_{here, depth}, far_{there, depth},
          file_{::memfd_create("f", MFD_ALLOW_SEALING)}
    {
        demand(::pwrite(file_.get(), source_.region().data(), region_bytes, 0) == ssize_t{region_bytes} &&
                   ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0,
               "no memfd");
        const auto address = [](std::span<std::byte> of) { return reinterpret_cast<std::uint64_t>(of.data()); };
        sources_ = {place{near_.register_memory(source_.region().data(), region_bytes), address(source_.region())},
                    place{near_.register_memfd(file_.get(), region_bytes), 0},
                    place{beside.key_here(), address(source_.region())}, place{0, address(source_.region())}};
        targets_ = {place{far_.register_memory(target_.region().data(), region_bytes), address(target_.region())},
                    place{beside.key_there(), address(target_.region())}};
        connect(near_, far_);
    }

    void step(fuzz_input &input)
    {
        const std::uint8_t command = input.byte();
        switch (command & 15U) {
        case 0:
        case 1:
            write_word(input);
            break;
        case 2:
        case 3:
        case 4:
            write_request(input);
            break;
        case 5:
        case 6:
            advance(input.below(4), input.byte());
            break;
        case 7:
            ring(near_);
            break;
        case 8:
            ring(far_);
            break;
        case 9: // for real: a receive request of the far end, which messages with immediates need
            advance_of(far_, 1, 1);
            ring(far_);
            break;
        case 10:
            change_state(command >> 4U);
            break;
        case 11:
            demand(::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, region_bytes) == 0,
                   "fallocate");
            break;
        default:
            run(here_, there_, 1U + (command >> 4U));
        }
    }

    // What the daemons have written where the input has not.
    void look()
    {
        target_.check();
        if (!completions_touched_)
            look_at(near_, life_);
        look_at(far_, 0);
    }

private:
    struct place {
        std::uint32_t key = 0;
        std::uint64_t address = 0;
    };

    void write_word(fuzz_input &input)
    {
        const std::uint8_t where = input.byte();
        const std::span<std::byte> page = (where & 3U) == 0   ? near_.completions.bytes()
                                          : (where & 3U) == 1 ? near_.bells.bytes()
                                                              : near_.rings.bytes();
        completions_touched_ = completions_touched_ || (where & 3U) == 0;
        const std::size_t words = page.size() / sizeof(std::uint32_t);
        // The headers of the rings, or anything.
        const std::size_t word = (where & 4U) != 0 ? std::size_t{input.below(6)} * 16 : input.word() % words;
        const std::uint32_t value = (where & 8U) != 0 ? input.number() : input.byte();
        std::memcpy(page.data() + word * sizeof(value), &value, sizeof(value));
    }

    void write_request(fuzz_input &input)
    {
        const std::uint32_t slot = input.below(depth);
        const std::uint8_t flags = input.byte();
        const place from = sources_[flags >> 4U & 3U];
        const place to = targets_[(flags & 0xC0U) == 0xC0U ? 1 : 0];
        session::send_entry entry;
        entry.id = input.byte();
        entry.remote_address = to.address + input.word() % (region_bytes + 64) - 32;
        entry.rkey = to.key;
        entry.immediate = flags;
        entry.flags = flags & 15U;
        entry.pieces = input.below(8);
        entry.first = piece(input, from);
        std::memcpy(near_.rings.bytes().data() + 2 * sizeof(session::ring_header) + slot * sizeof(entry), &entry,
                    sizeof(entry));
        for (std::uint32_t n = 0; n < 3; ++n)
            near_.layout.further_pieces(near_.rings.get(), slot)[n] = piece(input, from);
    }

    static session::gather_entry piece(fuzz_input &input, const place &from)
    {
        const std::uint16_t offset = input.word();
        const std::uint16_t length = input.word();
        return {.address = from.address + offset % (region_bytes + 64) - 32,
                .length =
                    static_cast<std::uint32_t>(length >= 0xFF00U ? UINT32_MAX - length : length % (region_bytes + 64U)),
                .lkey = from.key};
    }

    // The positions of one ring, as after so many posts or polls.
    void advance(std::uint32_t which, std::uint8_t by) { advance_of(near_, which % 2, by % (2 * depth)); }
    static void advance_of(fake_endpoint &end, std::uint32_t which, std::uint32_t by)
    {
        static_cast<session::ring_header *>(end.rings.get())[which].producer += by;
    }

    static void ring(fake_endpoint &end) { static_cast<session::bell_page *>(end.bells.get())->ring(end.qp.bell); }

    void change_state(unsigned to)
    {
        constexpr std::array states{qp_state::ready_to_send, qp_state::send_queue_drained, qp_state::error,
                                    qp_state::reset};
        if (near_.modify(states[to % states.size()]) && states[to % states.size()] == qp_state::reset) {
            ++life_;
            const auto again = [&] { // toward the same peer, whose window has gone on or not
                return near_.modify(qp_state::init) && near_.modify(qp_state::ready_to_receive, &far_) &&
                       near_.modify(qp_state::ready_to_send);
            };
            demand(again(), "no way back from RESET");
            next_send_ = next_receive_ = 0;
        }
    }

    void look_at(fake_endpoint &end, std::uint16_t life)
    {
        std::uint32_t &sends = &end == &near_ ? next_send_ : far_send_;
        std::uint32_t &receives = &end == &near_ ? next_receive_ : far_receive_;
        session::completion_entry entry;
        while (end.done.pop(entry)) {
            demand(entry.qpn == end.qp.qpn, "a completion of another queue pair");
            if (entry.resets != life) { // of before the reset
                demand(static_cast<std::uint16_t>(life - entry.resets) < 0x8000U, "a completion of a life to come");
                continue;
            }
            std::uint32_t &expected = (entry.flags & session::completion_receive) != 0 ? receives : sends;
            demand(static_cast<std::int32_t>(entry.position - expected) >= 0, "completions are in order, and once");
            expected = entry.position + 1;
        }
    }

    daemon_in_memory &here_;
    daemon_in_memory &there_;
    guarded_memory source_;
    target_memory target_;
    fake_endpoint near_;
    fake_endpoint far_;
    kernel::unique_fd file_;
    std::array<place, 4> sources_;
    std::array<place, 2> targets_;
    std::uint16_t life_ = 0;
    std::uint32_t next_send_ = 0, next_receive_ = 0, far_send_ = 0, far_receive_ = 0;
    bool completions_touched_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static daemon_in_memory here{0};
    static daemon_in_memory there{1};
    static honest_pair beside{here, there};
    beside.transfer(here, there);
    const std::size_t qps = here.qps_in_use();
    const std::size_t descriptors = open_descriptors();
    {
        attack client{here, there, beside};
        fuzz_input input{{data, size}};
        while (!input.empty()) {
            client.step(input);
            client.look();
        }
        beside.transfer(here, there);
        run(here, there, 64);
        client.look();
    }
    run(here, there, 8);
    demand(here.qps_in_use() == qps, "queue pairs of ended sessions are left");
    await_descriptors(descriptors);
    return 0;
}
