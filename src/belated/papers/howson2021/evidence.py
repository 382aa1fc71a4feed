"""Runs of a reproduction, grouped by chain, delay law, expected delay and updater."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Floats, Ints
from belated.papers.howson2021.grid import CHAINS, LAWS, LEARNERS
from belated.papers.howson2021.measurements import Measurements
from belated.papers.statistics import align
from belated.sweep.bands import Columns, Curves


class Condition(NamedTuple):
    """Experimental condition: a chain, a delay law and an expected delay.

    If the expected delay is 0, the law is "constant".
    """

    states: int
    """Number of states of the chain."""
    law: str
    mean: float
    """Expected delay in episodes."""

    def __str__(self) -> str:
        if self.mean == 0:
            return f"S = {self.states}, no delay"
        return f"S = {self.states}, {self.law}, E[τ] = {self.mean:g}"


def make_condition(states: int, law: str, mean: float) -> Condition:
    """Return the experimental condition: a chain, a delay law and an expected delay.

    If the expected delay is 0, the four laws of the paper are equal. The law of the condition is
    then "constant", whatever `law` is.

    Parameters
    ----------
    states : int
        Number of states of the chain.
    law : str
        Name of the delay law.
    mean : float
        Expected delay in episodes.

    Returns
    -------
    Condition
        The condition.
    """
    return Condition(states, law if mean > 0 else "constant", mean)


Key = tuple[Condition, str]
"""Pair of a condition and the name of an updater."""


class Evidence:
    """Runs of the paper's experiments with one base, grouped by condition and updater.

    All runs of a condition have the same world, so that learners are compared only on the same
    chain. Runs whose world, delay law or updater is not in the paper's experiments are ignored.

    Parameters
    ----------
    runs : Columns
        Final results, with one row per run.
    curves : callable
        Function that maps the id of a setting to a table with the columns seed, episode and regret.
    suffix : str
        Suffix of the names of the chains to use: "" for the chains whose last state gives a reward
        for both actions, or `grid.PAID_RIGHT_SUFFIX` for those that reward only the action "right".
    measurements : Measurements, optional
        Measurements of quantities that the results of a sweep do not contain.

    Raises
    ------
    ValueError
        If the runs have different bases, or different numbers of episodes on one chain.
    """

    def __init__(
        self,
        runs: Columns,
        curves: Curves,
        *,
        suffix: str = "",
        measurements: Measurements | None = None,
    ) -> None:
        self.measurements = measurements
        self._curves = curves
        self.groups: dict[Key, Columns] = {}
        """Map from each pair (condition, updater) to the table of its runs, sorted by seed."""
        worlds = {f"chain-{states}{suffix}": states for states in CHAINS}
        inside = np.isin(runs["world"].astype(str), list(worlds))
        inside &= np.isin(runs["law"].astype(str), LAWS)
        inside &= np.isin(runs["updater"].astype(str), list(LEARNERS))
        found = {name: np.asarray(column)[inside] for name, column in runs.items()}
        _check_single(found, "base")
        for world in np.unique(found["world"].astype(str)):
            here = found["world"] == world
            _check_single({name: column[here] for name, column in found.items()}, "episodes")
        names, at = np.unique(found["setting"].astype(str), return_inverse=True)
        for i in range(len(names)):
            rows = np.flatnonzero(at == i)
            rows = rows[np.argsort(found["seed"][rows])]
            own = {name: column[rows] for name, column in found.items()}
            states, law = worlds[str(own["world"][0])], str(own["law"][0])
            condition = make_condition(states, law, float(own["mean_delay"][0]))
            self.groups[condition, str(own["updater"][0])] = own

    def conditions(self, *, delayed: bool = False) -> list[Condition]:
        """Return all experimental conditions for which there are runs, in the paper's order.

        A condition is a chain, a delay law and an expected delay. If `delayed`, return only
        conditions with delay.
        """
        found = {condition for condition, _ in self.groups if condition.mean > 0 or not delayed}
        return sorted(found, key=lambda c: (c.states, c.mean > 0, LAWS.index(c.law), c.mean))

    def chains(self) -> list[int]:
        """Return the numbers of states of the chains that have runs, in ascending order."""
        return sorted({condition.states for condition, _ in self.groups})

    def table(self, keys: Sequence[Key]) -> Floats | None:
        """Return a table of final regrets, with a column for each of `keys` and a row per seed.

        Each key is a pair of a condition and an updater. Only seeds for which every key has a run
        are included. Return None if a key has no runs, or if fewer than `MIN_SEEDS` seeds are
        common to all keys.
        """
        return self._align(keys, self.totals)

    def regret_at(self, keys: Sequence[Key], shares: Sequence[float]) -> Floats | None:
        """Return the cumulative regret after given fractions of the K episodes of each run.

        Parameters
        ----------
        keys : sequence
            Pairs of a condition and an updater.
        shares : sequence of float
            Fractions of the number of episodes K, in (0, 1].

        Returns
        -------
        array of shape (seeds, keys, shares), or None
            Cumulative regret, for the seeds that all keys have in common. None if a key has no
            runs, or if fewer than `MIN_SEEDS` seeds are common to all keys.
        """

        def regrets(key: Key) -> dict[int, Floats]:
            return {
                seed: interpolate_regret(at, regret, np.multiply(shares, at[-1]))
                for seed, at, regret in self.curves(key)
            }

        return self._align(keys, regrets)

    def _align(
        self, keys: Sequence[Key], values: Callable[[Key], Mapping[int, ArrayLike]]
    ) -> Floats | None:
        """Return the `values` of each of `keys`, aligned by seed; None if one has no runs."""
        if not keys or not all(key in self.groups for key in keys):
            return None
        return align([values(key) for key in keys])

    def totals(self, key: Key) -> dict[int, float]:
        """Return the final regret of each run of `key`, by seed."""
        group = self.groups[key]
        return dict(zip(group["seed"].tolist(), group["total_regret"].tolist(), strict=True))

    def tables(self, updaters: Sequence[str]) -> Iterator[tuple[Condition, Floats]]:
        """Yield each condition with its table of final regrets.

        The table has a row per seed and a column for each of `updaters`. Conditions with too few
        runs, for which the method `table` returns None, are skipped.
        """
        for condition in self.conditions():
            table = self.table([(condition, updater) for updater in updaters])
            if table is not None:
                yield condition, table

    def means(self, states: int, laws: Sequence[str], updaters: Sequence[str]) -> list[float]:
        """Return the expected delays at which all given laws and updaters have runs.

        Zero is included if the updaters have runs without delay.

        Parameters
        ----------
        states : int
            Number of states of the chain.
        laws, updaters : sequence of str
            Delay laws and updaters. Every combination of them must have runs.

        Returns
        -------
        list[float]
            The expected delays in ascending order.
        """
        pairs = list(product(laws, updaters))
        every = {condition.mean for condition, _ in self.groups if condition.states == states}
        return sorted(
            mean
            for mean in every
            if all((make_condition(states, law, mean), one) in self.groups for law, one in pairs)
        )

    def curves(self, key: Key) -> Iterator[tuple[int, Ints, Floats]]:
        """Yield the seed, the checkpoints and the cumulative regret of each run of `key`.

        `key` is a pair of a condition and an updater. Checkpoints are numbers of episodes.
        """
        columns = self._curves(str(self.groups[key]["setting"][0]))
        seeds, starts = np.unique(columns["seed"], return_index=True)
        episodes, regrets = (np.split(columns[name], starts[1:]) for name in ("episode", "regret"))
        yield from zip(map(int, seeds), episodes, regrets, strict=True)


def interpolate_regret(episode: Ints, regret: Floats, at: ArrayLike) -> Floats:
    """Return the cumulative regret after `at` episodes, by linear interpolation.

    Parameters
    ----------
    episode, regret : array
        Checkpoints, and the cumulative regret at each checkpoint.
    at : float or array
        Numbers of episodes.

    Returns
    -------
    float or array
        The regret, in the shape of `at`.
    """
    found: Floats = np.interp(np.asarray(at), np.append(0, episode), np.append(0.0, regret))
    return found


def _check_single(columns: Columns, name: str) -> None:
    """Raise ValueError if the runs in `columns` have different values in the column `name`.

    Runs with different values in this column cannot be compared with each other.
    """
    values = np.unique(columns[name].astype(str))
    if values.size > 1:
        world = "" if name == "base" else f" on {columns['world'][0]}"
        raise ValueError(f"All runs{world} must have the same {name}, got {' and '.join(values)}.")
