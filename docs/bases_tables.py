"""Tables of docs/bases-under-delay.md, from the data of the study bases-under-delay."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

import belated as bl
from belated.papers.statistics import (
    bootstrap_interval,
    discoveries,
    mean_interval,
    p_value_above,
    resample_means,
)
from belated.simulation.calibrate import clopper_pearson
from belated.simulation.calibration_table import CalibratedScale, read_table
from belated.sweep.packaged import FOLDER as STUDIES
from measured import Measured, mean_text

LAWS = ("constant", "uniform", "poisson", "geometric")
DELAYS = ("constant:0", *(f"{law}:{mean}" for law in LAWS for mean in (100, 500)))
BASES = (
    *("ubev", "ucbvi-ch", "ucbvi-bf", "ucrl2", "ucrl2b", "kl-ucrl", "chi2-ucrl"),
    *("psrl", "q-learning"),
)
CALIBRATED = BASES[:7]
WORLDS = (
    *("chain-5", "chain-10", "chain-20"),
    *("riverswim-6", "garnet-10-3-3-0-10", "frozen-lake-4x4"),
)
FALSE_DISCOVERY_RATE = 0.05


def by_setting(rows: Sequence[Measured]) -> dict[tuple[str, str, str], Measured]:
    """Return `rows` by world, base and delay."""
    return {(row.world, row.base, row.delay): row for row in rows}


def delay_names() -> str:
    """Return the heads of the columns of all delays."""
    return " | ".join("no delay" if d == "constant:0" else d.replace(":", " ") for d in DELAYS)


def regrets(rows: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the table of final regrets: mean and interval of each setting."""
    of = by_setting(rows)
    yield f"| World | Base | Runs | {delay_names()} |"
    yield "| --- | --- |" + " ---: |" * (1 + len(DELAYS))
    for world in (name for name in WORLDS if any(row.world == name for row in rows)):
        for base in BASES:
            found = [of[world, base, delay] for delay in DELAYS if (world, base, delay) in of]
            if not found:
                continue
            runs = {len(row.regrets) for row in found}
            texts = " | ".join(mean_text(row.regrets) for row in found)
            yield f"| {world} | `{base}` | {runs.pop()} | {texts} |"
        episodes = next(row.episode for row in rows if row.world == world)
        most = f"{episodes * bl.optimal_value(bl.world(world)):,.0f}"
        yield f"| {world} | largest possible, K V* | | {' | '.join([most] * len(DELAYS))} |"


def scales() -> dict[tuple[str, str, str], CalibratedScale]:
    """Return the calibrated scales of the study, by world, base and delay."""
    rows = read_table(STUDIES / "bases-under-delay.json")
    return {(row.world, row.base, row.delay): row for row in rows}


def optimism(rows: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the table of scales, and of the runs of the study that were optimistic."""
    of, scale_of = by_setting(rows), scales()
    yield f"| World | Base | {delay_names()} | Optimistic runs | Fewest with one delay |"
    yield "| --- | --- |" + " ---: |" * (2 + len(DELAYS))
    for world in WORLDS:
        for base in CALIBRATED:
            keys = [(world, base, delay) for delay in DELAYS if (world, base, delay) in of]
            if not keys:
                continue
            texts = [
                f"{scale_of[key].scale:g}{'*' if scale_of[key].at_floor else ''}" for key in keys
            ]
            held = [of[key].optimism_held for key in keys]
            runs = [len(of[key].regrets) for key in keys]
            fewest = min(range(len(keys)), key=lambda i: held[i] / runs[i])
            low, high = clopper_pearson(held[fewest], runs[fewest])
            cells = [
                f"{sum(held)} of {sum(runs)}",
                f"{held[fewest]} of {runs[fewest]} ({low:.0%} to {high:.0%})",
            ]
            yield f"| {world} | `{base}` | {' | '.join(texts + cells)} |"


def ranking(rows: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the table that compares the bases over all worlds and delays.

    In each world with each delay, every base is compared with the base of the lowest mean regret,
    paired by seed. The false discovery rate is controlled over all comparisons.
    """
    of = by_setting(rows)
    conditions = [(w, d) for w in WORLDS for d in DELAYS if all((w, b, d) in of for b in BASES)]
    best, compared, p_values = {}, [], []
    for world, delay in conditions:
        means = {base: np.mean(of[world, base, delay].regrets) for base in BASES}
        best[world, delay] = min(means, key=lambda base: means[base])
        lowest = np.array(of[world, best[world, delay], delay].regrets)
        for base in BASES:
            if base != best[world, delay]:
                difference = np.array(of[world, base, delay].regrets) - lowest
                compared.append(base)
                p_values.append(p_value_above(mean_interval(difference), 0, difference.size))
    worse = discoveries(p_values, FALSE_DISCOVERY_RATE)
    table = np.array([[of[w, b, d].regrets for w, d in conditions] for b in BASES])
    logs = np.log(table.mean(axis=2)).mean(axis=1)  # ln of the geometric mean over conditions
    reference = int(logs.argmin())
    draws = np.array([np.log(resample_means(of_base.T)).mean(axis=1) for of_base in table])
    seeds = table.shape[2]
    yield (
        f"| Base | Lowest mean, of {len(conditions)} | Not resolved from the lowest | Higher | "
        f"Regret relative to `{BASES[reference]}` | Runs |"
    )
    yield "| --- |" + " ---: |" * 5
    for index, base in enumerate(BASES):
        first = sum(found == base for found in best.values())
        higher = sum(bool(w) for b, w in zip(compared, worse, strict=True) if b == base)
        ratio = "1"
        if index != reference:
            interval = bootstrap_interval(
                logs[index] - logs[reference], draws[index] - draws[reference], seeds
            )
            low, high = math.exp(interval.low), math.exp(interval.high)
            ratio = f"{math.exp(interval.estimate):.2f} ({low:.2f} to {high:.2f})"
        tied = len(conditions) - first - higher
        yield f"| `{base}` | {first} | {tied} | {higher} | {ratio} | {seeds * len(conditions):,} |"
