"""A made-up reproduction of Howson et al., in which every claim of the paper holds.

Regret is a level for each learner, plus a slope times E[tau], plus noise that all runs of a seed
share, plus a little of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from belated.papers.howson2021.grid import LAWS, LEARNERS
from belated.papers.howson2021.measurements import Measurements
from belated.theory import psi

Columns = dict[str, np.ndarray]
Curves = Callable[[str], Columns]

LEVEL = {"active": 1000.0, "lazy:100": 1010.0, "lazy:10": 1050.0, "lazy:1": 1500.0}
SLOPE = {"active": 1.0, "lazy:100": 1.02, "lazy:10": 1.05, "lazy:1": 1.1}
COST = {"constant": 1.0, "poisson": 1.0, "uniform": 0.4, "geometric": 0.3}
EXPLICIT = {"constant": 5.0, "poisson": 5.0, "uniform": 8.0, "geometric": 10.0}


@dataclass(frozen=True)
class MadeUp:
    """Parameters of made-up runs; with the defaults, all claims hold."""

    level: Mapping[str, float] = field(default_factory=lambda: LEVEL)
    slope: Mapping[str, float] = field(default_factory=lambda: SLOPE)
    cost: Mapping[str, float] = field(default_factory=lambda: COST)  # of the slope, by law
    explicit: Mapping[str, float] = field(default_factory=lambda: EXPLICIT)  # its slope, by law
    explicit_level: float = 2000.0  # with any delay; without, it is active
    bump: float = 0.0  # more regret at E[tau] = 100 and 300
    regret: Callable[[int, str, str, float], float] | None = None  # instead of all these
    noise: float = 20.0  # shared by the runs of a seed
    own_noise: float = 0.5
    chains: Sequence[int] = (5, 10)
    means: Sequence[int] = (0, 100, 200, 300, 400, 500)
    learners: Sequence[str] = tuple(LEARNERS)
    seeds: int = 8
    episodes: int = 10_000
    epochs: int = 20
    fewer_epochs: int = 0  # of the first seed than of the others
    missing: float = 0.5  # share of psi
    missing_spread: float = 0.0  # of that share, between the first seed and the last
    explored: float = 0.5  # share of the episodes
    flat: float = 0.2  # share of the episodes after which regret stands still
    delayed_flat: float | None = None  # the same with delay, if it is different
    power: float = 1.0  # of the number of episodes, until regret stands still
    power_noise: float = 0.0  # between runs
    received: float = 0.8  # share of the episodes that have a short delay
    learnt: float = 1.5  # episodes until epsilon-greedy has learnt, divided by 2^S
    measured_noise: float = 0.02  # of both, between runs

    def mean_regret(self, states: int, learner: str, law: str, mean: float) -> float:
        """Return the values to which noise is added."""
        if self.regret is not None:
            return self.regret(states, learner, law, mean)
        if learner == "explicit":
            start = self.explicit_level if mean > 0 else self.level["active"]
            return start + self.explicit[law] * mean
        bump = self.bump if mean in (100, 300) else 0.0
        return self.level[learner] + self.slope[learner] * self.cost[law] * mean + bump

    def rows(self) -> list[dict[str, Any]]:
        """One for each run."""
        rng = np.random.default_rng(5)
        shared = rng.normal(0, self.noise, self.seeds)
        rows = []
        for states in self.chains:
            for learner in self.learners:
                for law in LAWS:
                    for mean in self.means:
                        if mean == 0 and law != "constant":
                            continue
                        level = self.mean_regret(states, learner, law, mean)
                        for seed in range(self.seeds):
                            total = level + shared[seed] + rng.normal(0, self.own_noise)
                            rows.append(self.row(states, learner, law, mean, seed, total))
        return rows

    def row(
        self, states: int, learner: str, law: str, mean: int, seed: int, total: float
    ) -> dict[str, Any]:
        """One run."""
        explores = learner == "explicit" and mean > 0
        return {
            "setting": f"chain-{states}/figures/{law}-{mean}/{learner.replace(':', '-')}",
            "world": f"chain-{states}",
            "base": "figures",
            "delay": f"{law}:{mean}",
            "law": law,
            "mean_delay": float(mean),
            "updater": learner,
            "states": states,
            "actions": 2,
            "horizon": states,
            "episodes": self.episodes,
            "stages": "pooled",
            "seed": seed,
            "total_regret": total,
            "updates": self.epochs - 1,
            "epochs": self.epochs - (self.fewer_epochs if seed == 0 else 0),
            "max_missing": int(self.missing_share(seed) * psi(mean, self.episodes, 0.05)),
            "optimism_broken": 0,
            "instances": 1,
            "last_explored": int(self.explored * self.episodes) if explores else 0,
            "longest_delay": 2.0 * mean,
        }

    def missing_share(self, seed: int) -> float:
        """Return the largest number of episodes in flight, divided by psi."""
        return self.missing + self.missing_spread * seed / max(1, self.seeds - 1)

    def measurements(self) -> Measurements:
        """Return measurements of epochs and of epsilon-greedy."""
        noise = np.random.default_rng(6).normal(0, self.measured_noise, self.seeds)
        noise -= noise.mean()
        epochs = [
            {
                "states": 5,
                "law": law,
                "mean_delay": float(mean),
                "seed": seed,
                "episodes": self.episodes,
                "received": self.received + noise[seed],
                "mostly_received": 0.4,
            }
            for law in LAWS
            for mean in (100, 500)
            for seed in range(self.seeds)
        ]
        exploration = [
            {
                "states": states,
                "seed": seed,
                "episodes": 12 * 2**states,
                "learnt_at": 2**states * max(0.1, self.learnt + noise[seed]),
                "first_good": 2**states / 2,
            }
            for states in (4, 6, 8)
            for seed in range(self.seeds)
        ]
        return Measurements(columns(epochs), columns(exploration))

    def make(self) -> tuple[Columns, Curves]:
        """Runs and curves, as results give them."""
        runs = columns(self.rows())

        def curves(setting: str) -> Columns:
            episode = np.arange(1, 201) * (self.episodes // 200)
            mine = runs["setting"] == setting
            flat = self.flat
            if self.delayed_flat is not None and runs["mean_delay"][mine].max() > 0:
                flat = self.delayed_flat
            noise = np.random.default_rng(len(setting)).normal(0, self.power_noise, self.seeds)
            rise = np.minimum(1, episode / (flat * self.episodes))
            rises = rise ** (self.power + noise[runs["seed"][mine]])[:, None]
            return {
                "seed": np.repeat(runs["seed"][mine], episode.size),
                "episode": np.tile(episode, int(mine.sum())),
                "regret": (runs["total_regret"][mine][:, None] * rises).ravel(),
            }

        return runs, curves


def columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Columns of rows, with strings as objects."""
    found = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        found[name] = np.array(values, dtype=object if isinstance(values[0], str) else None)
    return found
