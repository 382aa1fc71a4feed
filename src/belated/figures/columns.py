"""From the columns of a study's results to the bands of a figure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from belated.episode import Bools
from belated.figures.bands import Band, Panels, band_of

Columns = Mapping[str, NDArray[Any]]
"""`runs` has a row for each run, `curves(setting)` one for each checkpoint of each run."""

Published = Mapping[tuple[str, str, float], float]
"""Published final regrets by updater, law and expected delay: ("lazy:10", "poisson", 100)."""

Points = Mapping[str, Mapping[str, Mapping[float, float]]]
"""Single values for each panel and line: at which x, which y."""

Per = Literal["learner", "law"]


def regret_bands(
    runs: Columns,
    curves: Callable[[str], Columns],
    *,
    world: str,
    base: str,
    mean: float,
    laws: Sequence[str],
    learners: Mapping[str, str],
) -> Panels:
    """Cumulative regret at expected delay `mean`: a panel for each law, a line for each learner.

    `learners` maps updaters to the names that stand in the figure. What was not run is left out.
    """
    panels: dict[str, dict[str, Band]] = {}
    for law in laws:
        lines = panels.setdefault(law.capitalize(), {})
        for updater, name in learners.items():
            rows = chosen(runs, world=world, base=base, law=law, updater=updater)
            found = np.unique(runs["setting"][rows & (runs["mean_delay"] == mean)].astype(str))
            if found.size > 1:
                raise ValueError(
                    f"{found[0]} and {found[1]} have the same world, base, law, expected delay "
                    "and updater; a line shows one setting."
                )
            if found.size:
                lines[name] = curve_band(curves(str(found[0])))
    return panels


def delay_bands(
    runs: Columns,
    *,
    world: str,
    base: str,
    laws: Sequence[str],
    learners: Mapping[str, str],
    per: Per = "learner",
) -> Panels:
    """Final regret against the expected delay.

    With `per="learner"`, as in the paper, a panel for each learner and a line for each law; with
    `per="law"` the other way round. What was not run is left out.
    """
    panels: dict[str, dict[str, Band]] = {}
    for panel, line, updater, law in nest(laws, learners, per):
        lines = panels.setdefault(panel, {})
        rows = chosen(runs, world=world, base=base, law=law, updater=updater)
        if rows.any():
            lines[line] = final_band(runs["mean_delay"][rows], runs["total_regret"][rows])
    return panels


def published_points(
    published: Published, *, laws: Sequence[str], learners: Mapping[str, str], per: Per = "learner"
) -> Points:
    """Published values in the panels and lines of `delay_bands`."""
    panels: dict[str, dict[str, dict[float, float]]] = {}
    for panel, line, updater, law in nest(laws, learners, per):
        panels.setdefault(panel, {})[line] = {
            mean: value
            for (some_updater, some_law, mean), value in sorted(published.items())
            if (some_updater, some_law) == (updater, law)
        }
    return panels


def chosen(runs: Columns, *, world: str, base: str, law: str, updater: str) -> Bools:
    """Which runs are of this kind; without delay all laws are one."""
    same_law = (runs["law"] == law) | (runs["mean_delay"] == 0)
    rest = (runs["world"] == world) & (runs["base"] == base) & (runs["updater"] == updater)
    return np.asarray(same_law & rest, np.bool_)


def nest(
    laws: Sequence[str], learners: Mapping[str, str], per: Per
) -> list[tuple[str, str, str, str]]:
    """(panel, line, updater, law) for each line of a figure of delay dependence."""
    if per == "learner":
        return [(name, law.capitalize(), u, law) for u, name in learners.items() for law in laws]
    return [(law.capitalize(), name, u, law) for law in laws for u, name in learners.items()]


def curve_band(curves: Columns) -> Band:
    """The band of a setting's curves, which come sorted by seed and episode."""
    seeds = np.unique(curves["seed"])
    episode = curves["episode"][curves["seed"] == seeds[0]]
    if not np.array_equal(curves["episode"], np.tile(episode, seeds.size)):
        raise ValueError(
            f"The runs of seeds {seeds[0]} to {seeds[-1]} were kept at different episodes; "
            "the runs of a band need the same."
        )
    return band_of(episode, curves["regret"].reshape(seeds.size, episode.size))


def final_band(mean_delay: NDArray[Any], regret: NDArray[Any]) -> Band:
    """The band of final regrets at each expected delay, which may have different runs."""
    x = np.unique(mean_delay)
    bands = [band_of(x[:1], regret[mean_delay == mean][:, None]) for mean in x]
    parts = (np.concatenate([getattr(b, part) for b in bands]) for part in ("mean", "low", "high"))
    return Band(x, *parts)
