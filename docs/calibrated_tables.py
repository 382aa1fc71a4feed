"""Tables of docs/reproduction-calibrated.md: scales, and what they change, by chain and law."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from belated.papers.howson2021.grid import (
    CALIBRATED_SCALES,
    CHAINS,
    DELAY_SCALES_FILE,
    LAWS,
    LEARNERS,
    MEANS,
)
from belated.papers.statistics import bootstrap_interval, resample_means
from belated.simulation.calibrate import clopper_pearson
from belated.simulation.calibration_table import CalibratedScale, read_table
from measured import Measured
from reproduction import PAGES

SCALES_FILE = DELAY_SCALES_FILE
"""Scales for each delay, written by `belated calibrate --table`."""

DOCS = Path(__file__).parent

VARIANTS = ("calibrated", "calibrated-with-delay")
"""Variants of the reproduction with both kinds of scales."""

VERDICTS = ("confirmed", "refuted", "not resolved", "says nothing")
"""Words with which an outcome begins."""


def calibrations() -> Iterator[str]:
    """Yield the lines of the table of calibrated scales, without and with delay."""
    rows = read_table(SCALES_FILE)
    of = {(row.world, row.delay, row.optimism): row for row in rows}
    places = {"start": "at the first state", "everywhere": "everywhere"}
    conditions = [name for name in places if any(row.optimism == name for row in rows)]
    heads = [
        f"With this delay, optimism {places[name]} | Held | 95% interval" for name in conditions
    ]
    yield f"| World | Delay | K | Scale without delay, seeds 0-39 | {' | '.join(heads)} |"
    yield "| --- | --- |" + " ---: |" * (2 + 3 * len(conditions))
    for world, delay in dict.fromkeys((row.world, row.delay) for row in rows):
        found = [of.get((world, delay, optimism)) for optimism in conditions]
        episodes = next(row.episodes for row in found if row is not None)
        old = CALIBRATED_SCALES[int(world.removeprefix("chain-"))]
        cells = [world, delay, f"{episodes:,}", f"{old:g}"]
        for row in found:
            cells += ["", "", ""] if row is None else calibration_cells(row)
        yield f"| {' | '.join(cells)} |"


def calibration_cells(row: CalibratedScale) -> list[str]:
    """Return the scale of `row`, in how many runs optimism held, and the interval, as texts."""
    low, high = row.interval
    scale = "none" if row.scale is None else f"{row.scale:g}{'*' * row.at_floor}"
    return [scale, f"{row.held} of {row.runs}", f"{100 * low:.1f}% to {100 * high:.1f}%"]


def variants(rows: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the table that compares runs with both kinds of scales.

    `rows` are the stored runs of the study calibrated-with-delay.
    """
    of = {(row.world, row.base, row.delay, row.updater): row for row in rows}
    yield (
        "| World | Learner | Delays | Optimistic runs, scale without delay | Optimistic runs, "
        "scale with the delay | Regret, relative to that with the scale without delay |"
    )
    yield "| --- | --- | --- |" + " ---: |" * 3
    for states, (updater, learner) in product(CHAINS, LEARNERS.items()):
        world = f"chain-{states}"
        for law, means in (("no delay", MEANS[:1]), *((law, MEANS[1:]) for law in LAWS)):
            delays = [f"{'constant' if mean == 0 else law}:{mean}" for mean in means]
            both = [
                [of[world, base, delay, updater] for delay in delays]
                for base in (f"{world}-without-delay", "with-delay")
            ]
            cells = [world, learner, law, *map(held_text, both), ratio_text(*both)]
            yield f"| {' | '.join(cells)} |"


def claims() -> Iterator[str]:
    """Yield the lines of the table of the verdicts of both variants, from their pages."""
    without, with_delay = (
        outcomes((DOCS / PAGES[variant]).read_text(encoding="utf-8")) for variant in VARIANTS
    )
    yield "| Claim | Scales without delay | Scales with the delay | Verdict |"
    yield "| --- | --- | --- | --- |"
    for claim, old in without.items():
        new = with_delay[claim]
        same = verdict_of(old) == verdict_of(new)
        yield f"| {claim} | {old} | {new} | {'same' if same else 'changed'} |"


def outcomes(page: str) -> dict[str, str]:
    """Return a map from each claim to its outcome in the Markdown text `page`."""
    _, _, table = page.partition("| Claim | Outcome |\n")
    found: dict[str, str] = {}
    for line in table.splitlines()[1:]:
        if not line.startswith("|"):
            break
        claim, outcome = line.strip("| ").split(" | ")
        found[claim] = outcome
    return found


def verdict_of(outcome: str) -> str:
    """Return the verdict, such as "not resolved", of an `outcome` with numbers of settings."""
    return next(verdict for verdict in VERDICTS if outcome.startswith(verdict))


def held_text(rows: list[Measured]) -> str:
    """Return how many of the runs in `rows` were optimistic, with a 95 % interval, as text."""
    held, runs = sum(row.optimism_held for row in rows), sum(len(row.regrets) for row in rows)
    low, high = clopper_pearson(held, runs)
    return f"{held} of {runs} ({low:.0%} to {high:.0%})"


def ratio_text(old: list[Measured], new: list[Measured]) -> str:
    """Return the ratio of the mean regrets in `new` to those in `old`, with a 95 % interval.

    It is the geometric mean over the settings. The interval is by the bootstrap over seeds.
    """
    tables = [np.array([row.regrets for row in rows]).T for rows in (new, old)]
    logs = [float(np.log(table.mean(axis=0)).mean()) for table in tables]
    draws = [np.log(resample_means(table)).mean(axis=1) for table in tables]
    found = bootstrap_interval(logs[0] - logs[1], draws[0] - draws[1], len(tables[0]))
    ratio, low, high = (math.exp(x) for x in (found.estimate, found.low, found.high))
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})"
