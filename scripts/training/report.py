# SPDX-License-Identifier: Apache-2.0
"""The report for reading: steps per second over time as a text plot, the longest step, the loss."""

ROWS = 24
BAR = 40
LOSSES = 8


def longest_step_ms(run):
    """Between the ends of two steps, the first being behind it."""
    times = [step["t_ms"] for step in run["steps"]]
    return max(later - earlier for earlier, later in zip(times, times[1:]))


def same_weights(runs):
    return len({run["weights"] for run in runs}) == 1


def rates(run, rows=ROWS):
    """(end of the interval in ms, steps per second) of equal intervals."""
    end = run["steps"][-1]["t_ms"]
    width = end / rows or 1
    counts = [0] * rows
    for step in run["steps"][1:]:
        counts[min(rows - 1, int(step["t_ms"] / width))] += 1
    return [((row + 1) * width, count * 1000 / width) for row, count in enumerate(counts)]


def plot(run):
    lines = rates(run)
    top = max(rate for _, rate in lines) or 1
    pending = [(run[key], what) for key, what in (("cut_ms", "a plane is dark"), ("restored_ms", "it is back"))
               if run[key] is not None]
    yield f"{run['name']}:"
    yield f"{'time':>8}  {'steps/s':>7}"
    for end_ms, rate in lines:
        mark = ""
        while pending and pending[0][0] <= end_ms:
            mark += f"  <- {pending.pop(0)[1]}"
        bar = "#" * round(BAR * rate / top)
        yield f"{end_ms / 1e3:7.2f}s  {rate:7.1f}  {bar:{BAR}}{mark}".rstrip()
    yield ""


def losses(run):
    steps = run["steps"]
    chosen = sorted({round(i * (len(steps) - 1) / (LOSSES - 1)) for i in range(LOSSES)})
    return "  ".join(f"{number + 1}: {steps[number]['loss']:.4f}" for number in chosen)


def summary(runs):
    yield f"{'run':34} {'seconds':>8} {'steps/s':>8} {'longest step':>13}  weights"
    for run in runs:
        seconds = run["steps"][-1]["t_ms"] / 1e3
        yield (f"{run['name']:34} {seconds:8.2f} {(len(run['steps']) - 1) / seconds:8.1f} "
               f"{longest_step_ms(run):10.0f} ms  {run['weights'][:16]}")


def text(runs):
    lines = [""]
    for run in runs:
        if run["cut_ms"] is not None:
            lines += plot(run)
    lines += [f"loss by step      {losses(runs[1])}", "", *summary(runs), ""]
    verdict = "all runs end with the same weights, bit for bit" if same_weights(runs) else "FAILED: weights differ"
    return "\n".join([*lines, f"result            {verdict}"])


def svg(runs):
    """Steps per second over time, a curve a run that is cut."""
    wide, high, rows = 720, 260, 60
    cut = [run for run in runs if run["cut_ms"] is not None]
    end = max(run["steps"][-1]["t_ms"] for run in cut)
    top = max(rate for run in cut for _, rate in rates(run, rows)) or 1
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-50 -20 {wide + 70} {high + 70}" '
             'font-family="sans-serif" font-size="12">', f'<path d="M0 0V{high}H{wide}" fill="none" stroke="black"/>',
             f'<text x="-45" y="4">{top:.0f}/s</text><text x="{wide - 20}" y="{high + 18}">{end / 1e3:.1f} s</text>']
    for number, (run, colour) in enumerate(zip(cut, ("#0a6", "#c40"))):
        points = " ".join(f"{t / end * wide:.1f},{high - rate / top * high:.1f}" for t, rate in rates(run, rows))
        x, y = run["cut_ms"] / end * wide, high + 36 + 16 * number
        parts += [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
                  f'<path d="M{x:.1f} 0V{high}" stroke="{colour}" stroke-dasharray="4"/>',
                  f'<text x="0" y="{y}" fill="{colour}">{run["name"]}; dashed: a plane is cut</text>']
    return "\n".join([*parts, "</svg>", ""])
