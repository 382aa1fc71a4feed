"""Time and memory in a world of the size of ICU-Sepsis."""

from measure import run_isolated
from report import Report, Section, Target, format_number

LEARNERS = (("UCBVI_BF", 1.0), ("UCRL2", 1.0), ("UCBVI_BF", 0.001), ("UCRL2", 0.1))
"""Base and scale. With the published scale 1 the policy does not change in so few episodes; with
the smaller scales it does."""


def measure_large_world(report: Report, *, quick: bool, repeats: int) -> None:
    """Add seconds and memory of one run of each base, each in a process of its own.

    Parameters
    ----------
    report : Report
        Receives section and targets.
    quick : bool
        Whether to play few episodes, without targets.
    repeats : int
        Ignored.
    """
    del repeats
    episodes = 200 if quick else 10_000
    rows = []
    for base, scale in LEARNERS:
        name = base if scale == 1 else f"{base}, scale={scale:g}"
        result = run_isolated("large", base, scale, episodes)
        peak = result.get("peak", float("nan"))
        seconds = result["seconds"]
        us = format_number(1e6 * seconds / episodes)
        changed = "yes" if result["policy_changed"] else "no"
        rows.append((name, f"{seconds:.1f}", us, format_number(peak), changed))
        text = f"ICU-size, 10,000 episodes of {name} take less than a minute and 1 GB"
        measured = f"{seconds:.1f} s, {format_number(peak)} MB, policy changed: {changed}"
        if not quick:
            report.targets.append(Target(text, measured, seconds < 60 and peak < 1000))
    note = (
        "S = 716, A = 25, H = 20, 85 random successors of each (s, a), the same at every step; "
        "reward 1 in one state out of fifty; uniform start; "
        f"{episodes:,} episodes, `scale=1` unless given, other options at their defaults, active, "
        "no delay. The peak is that of the whole process."
    )
    columns = ("base", "seconds", "µs per episode", "peak MB", "policy changed")
    report.sections.append(Section("ICU-size world", columns, rows, note))
