"""A world of the size of ICU-Sepsis."""

import belated as bl
from measure import alone
from table import Promise, Report, Section, number

BASES = (bl.UCBVI_BF, bl.UCRL2)


def measure(report: Report, *, quick: bool, repeats: int) -> None:
    """Add seconds and memory of a run of each base, measured once, in processes of their own."""
    del repeats
    episodes = 200 if quick else 10_000
    rows = []
    for base in BASES:
        found = alone("large", base.__name__, episodes)
        peak = found.get("peak", float("nan"))
        seconds = found["seconds"]
        us = number(1e6 * seconds / episodes)
        rows.append((base.__name__, f"{seconds:.1f}", us, number(peak)))
        text = f"ICU-size, 10,000 episodes of {base.__name__} take less than a minute and 1 GB"
        measured = f"{seconds:.1f} s, {number(peak)} MB"
        if not quick:
            report.promises.append(Promise(text, measured, seconds < 60 and peak < 1000))
    note = (
        "S = 716, A = 25, H = 20, 85 random successors of each (s, a), the same at every step; "
        f"one state in fifty pays; uniform start; {episodes:,} episodes, bases as published, "
        "active, no delay. The peak is that of the whole process."
    )
    columns = ("base", "seconds", "µs per episode", "MB at the peak")
    report.sections.append(Section("ICU-size world", columns, rows, note))
