"""Time of a small world, chain 5, compared with the least time that planning takes there.

The time of an episode of a small world differs between processes that run the same code, but
hardly within one process. It is therefore measured in several processes.
"""

from statistics import median

from measure import run_isolated
from report import Report, Section, Target, format_number, format_ratio, format_ratios

PROCESSES = 15
LIMIT = 2.0


def measure_small(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the times on chain 5 in several processes, and the target for their ratio.

    Parameters
    ----------
    report : Report
        Receives the section and the target.
    quick : bool
        Whether to use three processes only.
    repeats : int
        Number of turns in each process.
    """
    times = [run_isolated("small", 20_000, repeats) for _ in range(3 if quick else PROCESSES)]
    ratios = [each["active"] / each["floor"] for each in times]
    moving = [each["active"] / each["moving"] for each in times]
    least = [1 + (each["smallest"] - each["without"]) / each["floor"] for each in times]
    rows = [
        (name, format_range([each[key] for each in times]))
        for key, name in (
            ("floor", "floor"),
            ("moving", "floor with the optimal policy"),
            ("active", "this engine, active"),
            ("smallest", "smallest program"),
            ("without", "smallest program, without plans"),
        )
    ]
    rows.append(("this engine / floor", format_ratios(ratios)))
    rows.append(("this engine / floor with the optimal policy", format_ratios(moving)))
    rows.append(("least ratio", format_ratios(least)))
    report.sections.append(
        Section(
            "Chain 5 in several processes, µs per episode",
            ("", "median (smallest to largest)"),
            rows,
            f"20,000 episodes, the learner of the tables above with `scale=1`, in {len(times)} "
            "processes. The floor plays its first policy, which always goes left, where no "
            "random number is needed; the floor with the optimal policy also plans nothing, "
            "but draws random numbers as the learner does. The smallest program "
            "(`benchmarks/minimal.py`) can do nothing but this run, with the same random "
            "numbers and regret. What it takes more with plans than without is what planning "
            "and the play of changing policies take at least. The least ratio is that of this "
            "engine if they took no longer here.",
        )
    )
    text = f"chain 5: this engine takes at most {LIMIT:g} × the floor"
    lowest = median(least)
    reason = (
        "Chain 5: the floor, and what the smallest program for this run takes for planning, are "
        f"together {lowest:.2f} × the floor. Planning here also works for all bases, updaters, "
        "delays and worlds."
    )
    for name, each in ((text, ratios), (f"{text} with the optimal policy", moving)):
        met = median(each) <= LIMIT
        report.targets.append(Target(name, format_ratio(median(each)), met, reason))


def format_range(times: list[float]) -> str:
    """Return the median of `times`, and the smallest and the largest in parentheses."""
    limits = f"{format_number(min(times))} to {format_number(max(times))}"
    return f"{format_number(median(times))} ({limits})"
