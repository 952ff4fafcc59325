# SPDX-License-Identifier: Apache-2.0
"""What happens in the traces of nscc.py: a sender, one bottleneck and a receiver around the controller.

Plausible rather than exact. Conditions change by phase; the sender obeys the window, packets queue at
the bottleneck, acknowledgements come back merged and with byte counts rounded up to 256.
"""

import dataclasses
import heapq
import itertools

UNIT = 256
START_NS = 1_000_000
OTHER_REASONS = ("no_resource", "no_bitmap", "no_pkt_buffer", "psn_oor")


@dataclasses.dataclass(frozen=True)
class Phase:
    """How path and receiver behave for a while; the defaults are an idle network."""
    for_ns: int
    share: float = 1.0          # of the link rate that the bottleneck leaves to this sender
    extra_ns: int = 0           # standing queue of others
    jitter_ns: int = 0
    rtt_change_ns: int = 0      # a shorter (negative) or longer path
    mark_ns: int = -1           # ECN from this queueing delay on; negative: never
    trim_ns: int = -1           # trimmed from this queueing delay on; negative: never
    trim_reason: str = "trimmed"
    lost: float = 0.0
    refused: float = 0.0        # NACKed by the receiver for another reason
    merged: int = 2             # packets confirmed by one SACK
    no_sample: float = 0.0
    penalty: int = 0
    restore: bool = False
    demand: bool = True         # whether there is data to send


class Loop:
    """Closes the loop: what the controller allows is sent, what the path makes of it is fed back."""

    def __init__(self, recorder, rng, packet):
        self.recorder = recorder
        self.rng = rng
        self.packet = packet
        self.now = START_NS
        self.bottleneck_free = START_NS
        self.answers = []
        self.order = itertools.count()
        self.received_bytes = 0
        self.reported_units = 0
        self.pending = 0

    def run(self, *phases):
        for phase in phases:
            end = self.now + phase.for_ns
            self.send(phase)
            while self.answers and self.answers[0][0] <= end:
                self.now, _, kind, detail = heapq.heappop(self.answers)
                getattr(self, kind)(phase, *detail)
                self.send(phase)
            self.now = end
        return self

    def send(self, phase):
        burst = 0
        while phase.demand and self.recorder.may_send(burst + self.packet):
            burst += self.packet
            self.transmit(phase)
        if burst:
            self.recorder.event("sent", self.now, burst)

    def transmit(self, phase):
        params = self.recorder.params
        queue = max(self.bottleneck_free - self.now, 0) + phase.extra_ns
        rtt = params.base_rtt_ns + phase.rtt_change_ns + queue + int(self.rng.random() * phase.jitter_ns)
        if 0 <= phase.trim_ns <= queue:
            self.answer(params.base_rtt_ns + phase.trim_ns, "nacked", phase.trim_reason, rtt)
            return
        service = self.packet * 8e9 / (params.link_bps * phase.share)
        self.bottleneck_free = max(self.bottleneck_free, self.now) + int(service)
        drawn = self.rng.random()
        if drawn < phase.lost:
            self.answer(3 * params.base_rtt_ns, "lost")
        elif drawn < phase.lost + phase.refused:
            self.answer(rtt, "nacked", OTHER_REASONS[int(self.rng.random() * len(OTHER_REASONS))], rtt)
        else:
            self.answer(rtt, "arrived", rtt, int(0 <= phase.mark_ns <= queue))

    def answer(self, after_ns, kind, *detail):
        heapq.heappush(self.answers, (self.now + after_ns, next(self.order), kind, detail))

    def sample(self, phase, rtt):
        return None if self.rng.random() < phase.no_sample else rtt

    def arrived(self, phase, rtt, marked):
        self.received_bytes += self.packet
        self.pending += 1
        if self.pending < phase.merged and any(answer[2] == "arrived" for answer in self.answers):
            return
        self.pending = 0
        units = -(-self.received_bytes // UNIT)
        newly, self.reported_units = (units - self.reported_units) * UNIT, units
        self.recorder.event("sack", self.now, newly, marked, self.sample(phase, rtt), phase.penalty, int(phase.restore))

    def nacked(self, phase, reason, rtt):
        self.recorder.event("nack", self.now, self.packet, reason, self.sample(phase, rtt))

    def lost(self, _phase):
        self.recorder.event("loss", self.now, self.packet)


def drained(for_ns):
    return Phase(for_ns, demand=False, merged=1)


def growth(recorder, rng):
    """Losses empty the window; it comes back in the low-delay quadrant, then by fast increase."""
    us = 1000
    Loop(recorder, rng, 4196).run(
        Phase(60 * us, lost=0.9),
        Phase(130 * us, extra_ns=5 * us, jitter_ns=500),
        Phase(60 * us, lost=0.5),
        Phase(140 * us),
        Phase(20 * us, extra_ns=3 * us),
        drained(40 * us),
        Phase(50 * us, merged=4))


def decrease(recorder, rng):
    """Marks with growing queues; then long ones, until the largest cut in one step."""
    us = 1000
    Loop(recorder, rng, 4196).run(
        Phase(20 * us),
        Phase(80 * us, share=0.5, mark_ns=2 * us),
        Phase(130 * us, extra_ns=9 * us, mark_ns=0),
        Phase(250 * us, extra_ns=60 * us, mark_ns=0, merged=1),
        Phase(80 * us, extra_ns=60 * us),
        Phase(100 * us, mark_ns=1 * us),
        Phase(120 * us, share=0.3, mark_ns=4 * us, jitter_ns=2 * us))


def fair(recorder, rng):
    """High delay without marks; marks with low delay; both in turn."""
    us = 1000
    loop = Loop(recorder, rng, 4196).run(Phase(50 * us, lost=0.7))
    for _ in range(3):
        loop.run(Phase(60 * us, extra_ns=25 * us, jitter_ns=8 * us),
                 Phase(30 * us, extra_ns=2 * us, mark_ns=0),
                 Phase(30 * us, extra_ns=1 * us, no_sample=0.3, merged=3))


def trims(recorder, rng):
    """NACKs of every reason; the window is rebuilt from what arrived and marks are ignored meanwhile."""
    us = 1000
    Loop(recorder, rng, 4196).run(
        Phase(20 * us),
        Phase(40 * us, share=0.08, trim_ns=8 * us, mark_ns=2 * us),
        Phase(60 * us, share=0.05, trim_ns=8 * us, mark_ns=2 * us, trim_reason="trimmed_lasthop"),
        Phase(70 * us),
        Phase(40 * us, refused=0.3, no_sample=0.2),
        Phase(30 * us, extra_ns=2 * us),
        Phase(26 * us, share=0.04, trim_ns=5 * us, mark_ns=3 * us),
        Phase(30 * us, extra_ns=12 * us, mark_ns=0),
        Phase(15 * us, lost=1.0),
        Phase(40 * us, share=0.5, trim_ns=3 * us, trim_reason="trimmed_lasthop"),
        Phase(60 * us))


def delay_adapts(recorder, rng):
    """Without trimming quick adapt is started by the delay alone."""
    us = 1000
    Loop(recorder, rng, 4196).run(
        Phase(20 * us),
        Phase(90 * us, extra_ns=75 * us, mark_ns=0, share=0.5),
        Phase(100 * us, share=0.1, extra_ns=50 * us, mark_ns=0),
        Phase(250 * us, share=0.04, extra_ns=50 * us),
        Phase(100 * us, lost=0.3, share=0.05, mark_ns=0),
        Phase(100 * us, share=0.6, mark_ns=6 * us),
        Phase(80 * us))


def never_adapts(recorder, rng):
    """The same trouble with quick adapt disabled."""
    us = 1000
    Loop(recorder, rng, 2148).run(
        Phase(30 * us),
        Phase(40 * us, share=0.08, trim_ns=8 * us, mark_ns=2 * us),
        Phase(30 * us, lost=0.2, refused=0.2),
        Phase(60 * us, extra_ns=40 * us, mark_ns=0),
        Phase(80 * us))


def penalties(recorder, rng):
    """The receiver takes the window away for a round trip and gives it back."""
    us = 1000
    Loop(recorder, rng, 4196).run(
        Phase(40 * us),
        Phase(12 * us, penalty=64),
        Phase(40 * us),
        Phase(24 * us, restore=True),
        Phase(30 * us, penalty=127, extra_ns=11 * us),
        Phase(60 * us, penalty=100, extra_ns=11 * us, mark_ns=0, restore=True),
        Phase(20 * us, extra_ns=1 * us, restore=True, no_sample=0.5),
        Phase(40 * us, penalty=1, no_sample=0.5),
        Phase(20 * us, penalty=20, rtt_change_ns=-3 * us),
        Phase(40 * us, restore=True, merged=4),
        drained(40 * us),
        Phase(20 * us, penalty=90, merged=1),
        Phase(60 * us, restore=True))


def episodes(recorder, rng):
    """The receiver is short of breath again and again and never gives the window back; at times little is in flight."""
    us = 1000
    Loop(recorder, rng, 4196).run(
        Phase(40 * us),
        Phase(14 * us, penalty=64),
        Phase(40 * us),
        Phase(8 * us, demand=False),
        Phase(2 * us, demand=False, penalty=32, merged=1),
        Phase(20 * us, penalty=32),
        Phase(4 * us),                                          # shorter than base_rtt: the same episode
        Phase(4 * us, demand=False),
        Phase(6 * us, penalty=32, merged=1),
        Phase(60 * us, extra_ns=1500),
        Phase(6 * us, demand=False),
        Phase(8 * us, demand=False, penalty=8, merged=1, no_sample=0.5),
        Phase(60 * us),
        Phase(12 * us, restore=True))


def floors(recorder, rng):
    """A host with scheduler jitter: lucky samples, but base_rtt and max_wnd keep their floors."""
    us = 1000
    Loop(recorder, rng, 3176).run(
        Phase(200 * us, jitter_ns=20 * us),
        Phase(200 * us, rtt_change_ns=-8 * us, jitter_ns=6 * us),
        Phase(300 * us, rtt_change_ns=-50 * us, jitter_ns=90 * us, mark_ns=30 * us),
        Phase(400 * us, lost=0.4, jitter_ns=40 * us),
        Phase(700 * us, jitter_ns=1 * us, merged=1),
        Phase(500 * us, share=0.6, mark_ns=40 * us, jitter_ns=30 * us),
        Phase(200 * us, lost=0.5, rtt_change_ns=-54 * us, merged=1))


def sack_by_hand(recorder):
    def sack(now, newly, ecn, delay, pen=0, restore=0):
        rtt = None if delay is None else recorder.controller.base_rtt + delay
        recorder.event("sack", now, newly, ecn, rtt, pen, restore)
    return sack


def boundaries(recorder, _rng):
    """By hand: events without bytes, then values that are exactly on a limit and one beside it."""
    state, params, sack = recorder.controller, recorder.params, sack_by_hand(recorder)
    base, target, mtu = params.base_rtt_ns, params.target_qdelay_ns, params.mtu
    now = START_NS
    recorder.event("sent", now, 60 * mtu)
    sack(now, 0, 1, -base // 2, pen=64)
    sack(now, -UNIT, 1, -base // 2, pen=64)
    sack(now, UNIT, 0, None, restore=1)                     # nothing saved
    sack(now, 40 * mtu, 0, None, pen=127)                   # leaves a window of one packet
    sack(now, UNIT, 0, target)                              # on T: high; the first sample fulfils
    sack(now, params.adjust_bytes, 0, target - 1)           # on adjust_bytes: no
    sack(now, UNIT, 0, target - 1)                          # beyond: yes
    recorder.event("sent", now, 60 * mtu)
    sack(now + base - 1, UNIT, 0, target - 1)               # one before adjust_period
    sack(now + base, UNIT, 0, target - 1)
    now += base
    sack(now, 16 * mtu, 0, 0, pen=127)
    sack(now, UNIT, 0, 0, pen=127)                          # one packet again
    sack(now, mtu // 2, 0, 999)
    sack(now, mtu // 2, 0, 999)                             # fi_count equals cwnd: not yet
    sack(now, UNIT, 0, 999)                                 # fast increase
    sack(now, UNIT, 0, 1000)                                # not "about 0": left
    sack(now, UNIT, 0, 0, restore=1)
    sack(now, UNIT, 0, -1)                                  # lowers base_rtt
    sack(now, UNIT, 0, 0)
    recorder.event("nack", state.qa_end - 1, mtu, "trimmed", None)
    sack(state.qa_end, UNIT, 0, 0)                          # triggered, and the window has just ended
    sack(recorder.now, UNIT, 1, target)                     # marked: ignored
    sack(state.last_adj + base, state.bytes_to_ignore - state.bytes_ignored, 1, target)     # no longer: fulfils
    recorder.event("sent", recorder.now, 40 * mtu)
    sack(state.qa_end, UNIT, 0, 0)                          # what was achieved before is forgotten
    sack(state.qa_end, UNIT, 0, params.qa_threshold_ns)     # on the threshold: no
    sack(state.qa_end, UNIT, 0, params.qa_threshold_ns + 1)
    recorder.event("loss", state.qa_end - 1, mtu)
    recorder.event("nack", state.qa_end, mtu, "trimmed_lasthop", state.base_rtt - 2)
    recorder.event("nack", recorder.now, mtu, "psn_oor", state.base_rtt - 3)
    sack(recorder.now, state.bytes_to_ignore - state.bytes_ignored, 0, target)
    recorder.event("sent", recorder.now, 40 * mtu)
    for step in range(90):
        sack(recorder.now + 1, UNIT, 1, 4 * target, pen=int(step % 50 == 49))
    sack(state.last_dec + state.base_rtt, UNIT, 1, 4 * target)
    sack(recorder.now + 1, UNIT, 1, 4 * target)
    sack(recorder.now, UNIT, 1, None, restore=1)
    sack(recorder.now, UNIT, 0, 0, restore=1)


def leftovers(recorder, _rng):
    """By hand: what one step leaves behind for the next, and a window above max_wnd until the next clamp."""
    state, params, sack = recorder.controller, recorder.params, sack_by_hand(recorder)
    target, mtu, now = params.target_qdelay_ns, params.mtu, START_NS
    recorder.event("sent", now, 60 * mtu)
    sack(now, 40 * mtu, 0, None, pen=127)                   # saves max_wnd, leaves one packet
    sack(now, UNIT, 0, target)                              # first sample: fulfils, opens quick adapt's window
    sack(now, 2 * mtu, 0, None, pen=127)                    # one packet again
    recorder.event("sent", now, 60 * mtu)
    sack(now, mtu // 2, 0, 0)
    sack(now, UNIT, 0, target)                              # fair increase keeps fi_count
    sack(now, mtu // 2 + UNIT, 0, 0)                        # beyond the window: fast increase
    sack(now, UNIT, 0, target)                              # fair increase keeps `increase`
    sack(now, UNIT, 0, 0)
    sack(now, UNIT, 0, None, pen=127)                       # fast increase survives the penalty as well
    sack(now, UNIT, 0, 0)
    sack(now, UNIT, 0, -1000)
    sack(now, UNIT, 0, None, restore=1)                     # the saved window is above max_wnd now
    recorder.event("nack", now, mtu, "no_resource", state.base_rtt - 500)
    recorder.event("loss", now, mtu)
    sack(now, UNIT, 0, None)
    sack(now, UNIT, 1, 0)                                   # clamped by the quadrant that does nothing
    recorder.event("loss", now, mtu)
    now = state.qa_end - 1
    sack(now, UNIT, 0, target)                              # fulfils by period
    sack(now, params.adjust_bytes - UNIT, 0, target)
    recorder.event("nack", now, mtu, "trimmed", None)
    sack(now + 1, UNIT, 0, 0)                               # quick adapt forgets `received`
    sack(now + 1, 2 * UNIT, 0, target)                      # so this does not fulfil
    sack(now + 1, UNIT, 0, target - 1)                      # ends the fast increase
    sack(now + 1, UNIT, 0, -600)                            # below the floor: no delay, not a negative one
    sack(now + 1, params.adjust_bytes, 0, target)
    recorder.event("loss", now + 1, mtu)                    # counts as ignored
    sack(now + 1, state.bytes_to_ignore - state.bytes_ignored - UNIT, 0, 0)
    recorder.event("loss", now + 1, UNIT)                   # the last of them
    sack(state.last_adj + params.adjust_period_ns, UNIT, 1, target)
    sack(recorder.now, UNIT, 1, target - 1)


def random_mix(recorder, rng):
    """A long run in which conditions change every few round trips."""
    us = 1000
    loop = Loop(recorder, rng, 4196)
    dip = 0
    for turn in range(96):
        dip -= int(rng.random() * 120)
        if turn % 16 == 9:
            loop.run(Phase(70 * us, extra_ns=int((20 + 20 * rng.random()) * us), mark_ns=0))
        troubled = rng.random()
        loop.run(Phase(
            for_ns=int((15 + 35 * rng.random()) * us),
            share=0.15 + 0.85 * rng.random() if troubled > 0.3 else 1.0,
            extra_ns=int(rng.random() * 14 * us) if troubled > 0.5 else 0,
            jitter_ns=int(rng.random() * 1500),
            rtt_change_ns=dip if rng.random() < 0.5 else 0,
            mark_ns=int(rng.random() * 9 * us) if rng.random() < 0.7 else -1,
            trim_ns=int((7 + rng.random() * 9) * us) if rng.random() < 0.7 else -1,
            trim_reason="trimmed_lasthop" if rng.random() < 0.3 else "trimmed",
            lost=0.05 * rng.random() if troubled > 0.6 else 0.0,
            refused=0.03 if rng.random() < 0.2 else 0.0,
            merged=1 + int(rng.random() * 5),
            no_sample=0.1 if rng.random() < 0.5 else 0.0,
            penalty=int(rng.random() * 128) if rng.random() < 0.12 else 0,
            restore=rng.random() < 0.5,
            demand=rng.random() < 0.93))


REFERENCE = {"link_bps": 100_000_000_000, "base_rtt_ns": 12_000, "mtu": 4196}
SCENARIOS = (
    ("growth", REFERENCE, growth),
    ("decrease", REFERENCE, decrease),
    ("fair", REFERENCE, fair),
    ("trims", REFERENCE | {"link_bps": 200_000_000_000}, trims),
    ("delay_adapts", REFERENCE | {"base_rtt_ns": 10_000, "trimming": False}, delay_adapts),
    ("never_adapts", REFERENCE | {"base_rtt_ns": 9_000, "mtu": 2148, "disable_qa": 1}, never_adapts),
    ("penalties", REFERENCE, penalties),
    ("episodes", REFERENCE, episodes),
    ("floors", {"link_bps": 10_000_000_000, "base_rtt_ns": 60_000, "mtu": 3176, "software": True,
                "base_rtt_floor_ns": 11_000, "min_window": 40_000, "target_qdelay_ns": 48_000}, floors),
    ("boundaries", REFERENCE | {"mtu": 4096, "qa_gate": 1, "qa_threshold_ns": 36_000}, boundaries),
    ("leftovers", REFERENCE | {"mtu": 4096, "qa_gate": 1, "base_rtt_floor_ns": 10_600}, leftovers),
    ("random_mix", REFERENCE | {"gamma": 0.7, "max_md_jump": 0.6}, random_mix),
)
