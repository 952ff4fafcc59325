#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""NSCC transcribed from UEC's pseudo-code (protocol.md §5.4), and its traces.

An oracle for the C++ controller, written without having seen it. Event names, fields and the file
format are in README.md. The pseudo-code is executed literally and in the order written; where it
leaves a choice, this is how it is read:

 1 cwnd, inc, saved_cwnd, max_wnd and avg are doubles and never rounded; byte counters are signed
   integers; times are integer nanoseconds; alpha is bytes per nanosecond.
 2 Everything starts at 0 (last_adj, last_dec, qa_end, avg too), base_rtt at config_base_rtt, cwnd at
   max_wnd. So the first sample fulfils by period. Traces start at 1 ms.
 3 A sack whose newly is not positive is ignored as a whole: no penalty, no sample, nothing.
 4 Without an RTT sample a sack ends after the penalty: no clamp, no quick_adapt, no fulfill.
 5 base_rtt takes max(rtt, floor) if that is strictly smaller, and only then is max_wnd derived again;
   cwnd is not clamped at that moment. d = max(0, rtt - base_rtt). Nothing else follows base_rtt: T,
   adjust_period, qa_threshold, alpha, … stay what they were configured.
 6 avg_update runs after the base_rtt update and before quick_adapt, so in the ignore phase as well; it
   compares d > T strictly. md sees the average with this event in it.
 7 quick_adapt: disabled touches nothing. now >= qa_end is not strict, d > qa_threshold is. The gate is
   achieved < int(max_wnd) >> qa_gate, with this event's bytes. Once qa_end has passed, achieved = 0 and the
   next qa_end are set whether it adapts or not, but not in the ignore phase. trigger_qa is cleared by an
   adaptation only. cwnd = max(achieved, MTU) may raise cwnd. bytes_to_ignore may be negative: no ignore
   phase then. A true result ends the sack: no quadrant, clamp, fulfill.
 8 `limited` suppresses fair increase, the whole call of fast_increase and the proportional term; not md,
   quick_adapt or fulfill (eta is still added). Fair increase, and ECN with low delay, leave `increase`
   and fi_count alone.
 9 fast_increase: "d ~= 0" is d < delay_zero. fi_count grows first and is then compared with the cwnd before
   the step; it keeps counting afterwards. Only d >= delay_zero and md zero it.
10 md: increase and fi_count always; avg > T and now - last_dec > base_rtt are strict.
11 cwnd is clamped to [MTU, max_wnd] after the quadrants, also after "nothing" and when limited; fulfill has
   its own min(). NACK, inferred loss, penalty, restore and quick_adapt do not clamp to max_wnd.
12 fulfill: now - last_adj >= adjust_period is not strict, received > adjust_bytes is; inc / cwnd uses the
   cwnd before; eta and last_adj only when the period has passed.
13 NACK: inflight and base_rtt for every reason. The average is fed config_base_rtt with ecn = 1. Order:
   inflight, base_rtt, avg, bytes_ignored, trigger_qa, quick_adapt, else the cut; bytes_to_ignore therefore
   is without the NACKed packet. Both trim reasons act alike. Never touches achieved, never fulfils.
14 Inferred loss: cut and counters only; no trigger, no quick_adapt, no average.
15 penalty: min(cwnd, inflight) belongs to the first sack of each episode, and uses the signed inflight after it.
   Were it taken with every sack, any pen at all would drain a full window within an RTT, whereas 64 is to halve it
   (§5.4). An episode is over at a sack that restores, and at one with pen = 0 that comes base_rtt or more
   after the last one with pen > 0 (base_rtt before that sack's sample): sacks of several senders' queues mix.
   saved_cwnd is from the first episode since a restore. (pen * n) >> 7 is a shift of the integer product. While
   pen > 0 the restore bit is ignored; pen = 0 without restore keeps saved_cwnd. A sack that restores is not limited.
16 sent adds to inflight, nothing else.
17 delay_zero is 1 us, or max(1 us, T / 16) with `software`; T = 0.75 * base_rtt truncated; a disabled
   qa_threshold is 2^62 ns; MTU is one number everywhere.
"""

import collections
import pathlib
import random
import sys

import nscc_scenarios

REFERENCE_BDP = 150000
REFERENCE_RTT_NS = 12000
NEVER_NS = 1 << 62
TRIMMED = ("trimmed", "trimmed_lasthop")
# A comparison of doubles closer to equality than this could go the other way in another implementation.
SAFE_MARGIN = 1e-9

REQUIRED = (
    "quadrant_proportional", "quadrant_fair", "quadrant_decrease", "quadrant_nothing", "fast_increase_entered",
    "fast_increase_step", "fast_increase_left", "md_cut", "md_jump_limit", "md_too_soon", "md_average_low",
    "qa_by_trigger", "qa_by_loss", "qa_by_delay", "qa_gated", "qa_not_needed", "qa_ignored", "qa_raised_cwnd",
    "qa_disabled", "nack_trimmed", "nack_trimmed_lasthop", "nack_no_resource", "nack_cut", "inferred_loss",
    "penalty_saved", "penalty_again", "penalty_mixed", "penalty_step", "limited_proportional", "limited_fair",
    "limited_decrease", "restored", "restore_without_saved", "base_rtt_lowered", "base_rtt_lowered_by_nack",
    "base_rtt_at_floor", "max_wnd_at_floor", "clamp_max", "clamp_mtu", "fulfill_by_period", "fulfill_by_bytes",
    "no_sample", "sack_ignored", "inflight_negative",
)


def derive(link_bps, base_rtt_ns, mtu, trimming=True, software=False, **overrides):
    """The defaults of protocol.md §5.2; every one of them can be overridden by its name."""
    bdp = link_bps * base_rtt_ns / 8e9
    target = overrides.get("target_qdelay_ns", base_rtt_ns * 3 // 4 if trimming else base_rtt_ns)
    scaling_a = bdp / REFERENCE_BDP
    scaling_b = target / REFERENCE_RTT_NS
    params = {
        "link_bps": link_bps,
        "base_rtt_ns": base_rtt_ns,
        "mtu": mtu,
        "trimming": int(trimming),
        "software": int(software),
        "base_rtt_floor_ns": 0,
        "min_window": 0,
        "target_qdelay_ns": target,
        "alpha": 4.0 * scaling_a * scaling_b * mtu / target,
        "fi": 5 * mtu * scaling_a,
        "fi_scale": 0.25 * scaling_a,
        "eta": 0.15 * mtu * scaling_a,
        "gamma": 0.8,
        "max_md_jump": 0.5,
        "qa_gate": 3,
        "qa_threshold_ns": NEVER_NS if trimming else 4 * target,
        "disable_qa": 0,
        "adjust_bytes": 8 * mtu,
        "adjust_period_ns": base_rtt_ns,
        "delay_zero_ns": max(1000, target // 16) if software else 1000,
        "ewma": 0.0125,
    }
    unknown = overrides.keys() - params.keys()
    if unknown:
        raise ValueError(f"no such parameter: {', '.join(sorted(unknown))}")
    return params | overrides


class Controller:
    """One destination. `hits` counts the branches, `margin` the narrowest comparison of doubles."""

    def __init__(self, params):
        self.p = collections.namedtuple("params", params)(**params)
        self.base_rtt = self.p.base_rtt_ns
        self.max_wnd = self.derived_max_wnd()
        self.cwnd = self.max_wnd
        self.inflight = 0
        self.saved_cwnd = 0.0
        self.penalized = False
        self.last_penalty = 0
        self.achieved = 0
        self.received = 0
        self.inc = 0.0
        self.fi_count = 0
        self.increase = False
        self.trigger_qa = False
        self.qa_end = 0
        self.bytes_to_ignore = 0
        self.bytes_ignored = 0
        self.last_adj = 0
        self.last_dec = 0
        self.avg = 0.0
        self.hits = collections.Counter()
        self.margin = 1.0

    # Events

    def sent(self, _now, size):
        self.inflight += size

    def sack(self, now, newly, ecn, rtt, pen, restore):
        if newly <= 0:
            self.hits["sack_ignored"] += 1
            return
        self.inflight -= newly
        self.bytes_ignored += newly
        self.received += newly
        self.achieved += newly
        self.hits["inflight_negative"] += self.inflight < 0
        limited = self.penalty(now, pen, restore, newly)
        if rtt is None:
            self.hits["no_sample"] += 1
            return
        self.update_base_rtt(rtt)
        delay = max(0, rtt - self.base_rtt)
        self.avg_update(delay, ecn)
        if self.quick_adapt(now, False, ecn, delay):
            return
        self.quadrant(now, newly, ecn, delay, limited)
        self.clamp()
        if now - self.last_adj >= self.p.adjust_period_ns or self.received > self.p.adjust_bytes:
            self.fulfill(now)

    def nack(self, now, size, reason, rtt):
        self.hits["nack_" + reason] += 1
        self.inflight -= size
        if rtt is not None and self.update_base_rtt(rtt):
            self.hits["base_rtt_lowered_by_nack"] += 1
        if reason not in TRIMMED:
            return
        self.avg_update(self.p.base_rtt_ns, True)
        self.bytes_ignored += size
        self.trigger_qa = True
        if not self.quick_adapt(now, True, True, 0):
            self.hits["nack_cut"] += 1
            self.cut(size)

    def loss(self, _now, size):
        self.hits["inferred_loss"] += 1
        self.cut(size)
        self.bytes_ignored += size
        self.inflight -= size

    # Steps

    def derived_max_wnd(self):
        return max(1.5 * self.p.link_bps * self.base_rtt / 8e9, float(self.p.min_window))

    def update_base_rtt(self, rtt):
        if max(rtt, self.p.base_rtt_floor_ns) >= self.base_rtt:
            return False
        self.hits["base_rtt_lowered"] += 1
        self.hits["base_rtt_at_floor"] += rtt < self.p.base_rtt_floor_ns
        self.base_rtt = max(rtt, self.p.base_rtt_floor_ns)
        self.max_wnd = self.derived_max_wnd()
        self.hits["max_wnd_at_floor"] += self.max_wnd == self.p.min_window
        return True

    def avg_update(self, delay, ecn):
        outlier = not ecn and delay > self.p.target_qdelay_ns
        sample = 0.25 * self.base_rtt if outlier else delay
        self.avg = self.p.ewma * sample + (1 - self.p.ewma) * self.avg

    def quadrant(self, now, newly, ecn, delay, limited):
        high = delay >= self.p.target_qdelay_ns
        if ecn and high:
            self.hits["quadrant_decrease"] += 1
            self.hits["limited_decrease"] += limited
            self.md(now)
        elif ecn:
            self.hits["quadrant_nothing"] += 1
        elif limited:
            self.hits["limited_fair" if high else "limited_proportional"] += 1
        elif high:
            self.hits["quadrant_fair"] += 1
            self.inc += self.p.fi * newly
        else:
            self.fast_increase(newly, delay)
            if not self.increase:
                self.hits["quadrant_proportional"] += 1
                self.inc += self.p.alpha * newly * (self.p.target_qdelay_ns - delay)

    def clamp(self):
        self.hits["clamp_max"] += self.cwnd > self.max_wnd
        self.cwnd = min(max(self.cwnd, self.p.mtu), self.max_wnd)

    def fulfill(self, now):
        self.cwnd += self.inc / self.cwnd
        if now - self.last_adj >= self.p.adjust_period_ns:
            self.hits["fulfill_by_period"] += 1
            self.last_adj = now
            self.cwnd += self.p.eta
        else:
            self.hits["fulfill_by_bytes"] += 1
        self.hits["clamp_max"] += self.cwnd > self.max_wnd
        self.cwnd = min(self.cwnd, self.max_wnd)
        self.inc = 0.0
        self.received = 0

    def md(self, now):
        self.increase = False
        self.fi_count = 0
        target = self.p.target_qdelay_ns
        if not self.above(self.avg, target):
            self.hits["md_average_low"] += 1
        elif now - self.last_dec <= self.base_rtt:
            self.hits["md_too_soon"] += 1
        else:
            self.hits["md_cut"] += 1
            factor = 1 - self.p.gamma * (self.avg - target) / self.avg
            self.hits["md_jump_limit"] += factor < self.p.max_md_jump
            self.cwnd = max(self.cwnd * max(factor, self.p.max_md_jump), self.p.mtu)
            self.last_dec = now

    def fast_increase(self, newly, delay):
        if delay < self.p.delay_zero_ns:
            self.fi_count += newly
            if self.increase or self.above(self.fi_count, self.cwnd):
                self.hits["fast_increase_step" if self.increase else "fast_increase_entered"] += 1
                self.cwnd = min(self.cwnd + newly * self.p.fi_scale, self.max_wnd)
                self.increase = True
                return
        else:
            self.hits["fast_increase_left"] += self.increase
            self.fi_count = 0
        self.increase = False

    def quick_adapt(self, now, loss, ecn, delay):
        if self.p.disable_qa:
            self.hits["qa_disabled"] += 1
            return False
        done = False
        if self.bytes_ignored < self.bytes_to_ignore and ecn:
            self.hits["qa_ignored"] += 1
            done = True
        elif now >= self.qa_end:
            if self.qa_end != 0 and (self.trigger_qa or loss or delay > self.p.qa_threshold_ns):
                done = self.adapt(loss)
            else:
                self.hits["qa_not_needed"] += 1
            self.achieved = 0
            self.qa_end = now + self.base_rtt + self.p.target_qdelay_ns
        if done:
            self.inc = 0.0
            self.received = 0
        return done

    def adapt(self, loss):
        if not self.above(int(self.max_wnd) >> self.p.qa_gate, self.achieved, slack=2):
            self.hits["qa_gated"] += 1
            return False
        self.hits["qa_by_loss" if loss else "qa_by_trigger" if self.trigger_qa else "qa_by_delay"] += 1
        self.hits["clamp_mtu"] += self.achieved < self.p.mtu
        self.hits["qa_raised_cwnd"] += self.achieved > self.cwnd
        self.cwnd = float(max(self.achieved, self.p.mtu))
        self.bytes_to_ignore = self.inflight
        self.bytes_ignored = 0
        self.trigger_qa = False
        return True

    def penalty(self, now, pen, restore, newly):
        if pen > 0:
            if self.saved_cwnd == 0:
                self.hits["penalty_saved"] += 1
                self.saved_cwnd = self.cwnd
            elif not self.penalized:
                self.hits["penalty_again"] += 1
            if not self.penalized:
                self.cwnd = min(self.cwnd, self.inflight)
            self.penalized = True
            self.last_penalty = now
            self.hits["penalty_step"] += 1
            self.cut((pen * newly) >> 7)
            return True
        if now - self.last_penalty >= self.base_rtt:
            self.penalized = False
        self.hits["penalty_mixed"] += self.penalized
        if restore:
            self.hits["restored" if self.saved_cwnd > 0 else "restore_without_saved"] += 1
            if self.saved_cwnd > 0:
                self.cwnd = self.saved_cwnd
                self.saved_cwnd = 0.0
                self.penalized = False
        return False

    def cut(self, size):
        self.hits["clamp_mtu"] += self.cwnd - size < self.p.mtu
        self.cwnd = max(self.cwnd - size, float(self.p.mtu))

    def above(self, left, right, slack=0):
        """left > right; equal whole numbers are exact wherever they are not the product max_wnd."""
        if left != right or not float(right).is_integer() or self.max_wnd in (left, right):
            distance = max(abs(left - right) - slack, 0)
            self.margin = min(self.margin, distance / max(abs(left), abs(right), 1))
        return left > right


class Recorder:
    """Feeds a controller and writes down what happened, one event a line."""

    def __init__(self, name, params):
        self.controller = Controller(params)
        self.params = self.controller.p
        self.lines = [f"trace {name}"] + [f"param {key} {value!r}" for key, value in params.items()]
        self.now = 0

    def event(self, kind, now, *fields):
        if now < self.now:
            raise ValueError(f"{kind} at {now} is before {self.now}")
        self.now = now
        getattr(self.controller, kind)(now, *fields)
        shown = " ".join("-" if field is None else str(field) for field in fields)
        state = self.controller
        self.lines.append(f"{kind} {now} {shown} = {state.cwnd:.6f} {state.inflight} {state.base_rtt}")
        if not state.p.mtu <= state.cwnd:
            raise ValueError(f"{self.lines[-1]}: cwnd is below one MTU")

    def may_send(self, size):
        return self.controller.inflight + size <= self.controller.cwnd


HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Written by nscc.py generate. Congestion-control traces and the window that the transcribed pseudo-code has
# after each event; README.md explains the lines.
#   sent T BYTES | sack T NEWLY ECN RTT PEN RESTORE | nack T BYTES REASON RTT | loss T BYTES  = CWND INFLIGHT BASE_RTT
# T and RTT in ns, T absolute, RTT '-' when there is no valid sample, CWND after '=' in bytes.
"""


def traces():
    """The file's text, and how often each branch was taken."""
    hits = collections.Counter()
    text = [HEAD]
    for name, settings, play in nscc_scenarios.SCENARIOS:
        recorder = Recorder(name, derive(**settings))
        play(recorder, random.Random(name))
        if recorder.controller.margin < SAFE_MARGIN:
            raise ValueError(f"{name}: a branch hangs on rounding, margin {recorder.controller.margin}")
        hits += recorder.controller.hits
        hits[f"events in {name}"] = sum(" = " in line for line in recorder.lines)
        text.append("\n".join(recorder.lines) + "\n")
    missing = [branch for branch in REQUIRED if not hits[branch]]
    if missing:
        raise ValueError(f"no trace hits {', '.join(missing)}")
    return "\n".join(text), hits


def branches():
    """Prints how often the traces take each branch."""
    for branch, count in sorted(traces()[1].items()):
        print(f"{count:7} {branch}")
    return 0


def self_test():
    """Cases worked out by hand: 100 Gb/s, 12 us, MTU 4000: BDP 150000, max_wnd 225000, T 9000, alpha 4/3, fi 20000."""
    params = derive(100_000_000_000, 12_000, 4000)
    derived = [params[key] for key in ("target_qdelay_ns", "alpha", "fi", "fi_scale", "eta", "adjust_bytes")]
    failures = []

    def expect(what, got, wanted):
        if any(abs(one - other) > 1e-6 for one, other in zip(got, wanted)):
            failures.append(f"{what}: {got}, not {wanted}")

    def fresh(cwnd, **overrides):
        controller = Controller(params | overrides)
        controller.cwnd, controller.inflight = float(cwnd), 40_000
        controller.last_adj, controller.qa_end = 1_000_000, 2_000_000
        return controller

    expect("derive", derived, [9000, 4 / 3, 20000, 0.25, 600, 32000])
    one = fresh(50_000)
    one.sack(1_000_000, 4000, False, 12_000 + 6000, 0, 0)       # inc = 4/3 * 4000 * 3000
    expect("proportional", (one.inc, one.cwnd, one.inflight, one.avg), (16_000_000, 50_000, 36_000, 75))
    one.sack(1_012_000, 4000, False, 12_000 + 9000, 0, 0)       # + 20000 * 4000 = 96e6; / 50000; + eta
    expect("fair, fulfilled", (one.inc, one.cwnd, one.received), (0, 50_000 + 1920 + 600, 0))
    one = fresh(50_000)
    one.avg = 18_000.0
    one.sack(1_000_001, 256, True, 12_000 + 18_000, 0, 0)       # avg = 2 T: factor 1 - 0.8 * 0.5
    expect("decrease", (one.cwnd, one.last_dec), (30_000, 1_000_001))
    one = fresh(7000)
    one.sack(1_000_001, 7168, False, 12_000, 0, 0)              # fi_count beyond cwnd: + 0.25 * newly
    expect("fast increase", (one.cwnd, one.increase, one.inc), (7000 + 1792, True, 0))
    one.sack(1_000_002, 4096, False, 11_000, 64, 0)             # cwnd is cut to inflight 28736, no: 8792 - 2048
    expect("penalty", (one.cwnd, one.saved_cwnd, one.base_rtt, one.max_wnd), (6744, 8792, 11_000, 206_250))
    one.nack(1_000_003, 4000, "trimmed", None)
    expect("trimmed", (one.cwnd, one.inflight, one.trigger_qa), (4000, 40_000 - 7168 - 4096 - 4000, True))
    one.sack(2_000_000, 256, False, 12_000, 0, 0)               # window over: rebuilt from achieved 11520
    expect("quick adapt", (one.cwnd, one.bytes_to_ignore, one.qa_end), (11_520, 24_480, 2_020_000))
    one.sack(2_000_001, 256, True, None, 0, 1)
    expect("restore", (one.cwnd, one.saved_cwnd), (8792, 0))
    print("\n".join(failures) or "self-test passed")
    return int(bool(failures))


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "generate":
        pathlib.Path(arguments[1]).write_text(traces()[0], encoding="utf-8")
        return 0
    if arguments == ["branches"]:
        return branches()
    if arguments == ["self-test"]:
        return self_test()
    print("usage: nscc.py generate FILE | branches | self-test", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
