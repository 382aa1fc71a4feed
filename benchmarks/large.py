"""A world of the size of ICU-Sepsis."""

from measure import alone
from table import Promise, Report, Section, number

LEARNERS = (("UCBVI_BF", 1.0), ("UCRL2", 1.0), ("UCBVI_BF", 0.001), ("UCRL2", 0.1))
"""As published, when no row is seen often enough for a plan to move, and so that plans do move."""


def measure(report: Report, *, quick: bool, repeats: int) -> None:
    """Add seconds and memory of a run of each base, measured once, in processes of their own."""
    del repeats
    episodes = 200 if quick else 10_000
    rows = []
    for base, scale in LEARNERS:
        name = base if scale == 1 else f"{base}, scale={scale:g}"
        found = alone("large", base, scale, episodes)
        peak = found.get("peak", float("nan"))
        seconds = found["seconds"]
        us = number(1e6 * seconds / episodes)
        moved = "yes" if found["moved"] else "no"
        rows.append((name, f"{seconds:.1f}", us, number(peak), moved))
        text = f"ICU-size, 10,000 episodes of {name} take less than a minute and 1 GB"
        measured = f"{seconds:.1f} s, {number(peak)} MB, policy changed: {moved}"
        if not quick:
            report.promises.append(Promise(text, measured, seconds < 60 and peak < 1000))
    note = (
        "S = 716, A = 25, H = 20, 85 random successors of each (s, a), the same at every step; "
        f"one state in fifty pays; uniform start; {episodes:,} episodes, `scale=1` unless "
        "given, other options as they are, active, no delay. The peak is that of the whole process."
    )
    columns = ("base", "seconds", "µs per episode", "MB at the peak", "policy changed")
    report.sections.append(Section("ICU-size world", columns, rows, note))
