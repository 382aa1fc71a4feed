"""The numbers of the theory, of the delay laws and of the worlds."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

import belated as bl
from belated import delays, theory
from regression.digesting import Draws, digest, plain
from regression.runs import WORLDS, world_of

BASES = ("ubev", "ucbvi-ch", "ucbvi-bf", "ucrl2", "ucrl2b", "kl-ucrl", "chi2-ucrl")
SHAPES = (bl.Shape(1, 1, 1), bl.Shape(2, 3, 4), bl.Shape(5, 2, 5), bl.Shape(30, 2, 30))
SIZES = (1, 10, 1000, 100_000)
MEANS = (0.0, 0.5, 30.0, 500.0, math.inf)
ALPHAS = (1.0, 10.0, 1000.0, math.inf)
DELTAS = (0.01, 0.2)
LATE = ([], [0], [4, 0, 0, 0, 4, 0], [2] * 9, [0, 30, 1, delays.NEVER, 2, 5, 0, 0, 7, 1, 3])


def late_sizes() -> Iterator[tuple[bl.Shape, dict[str, Any]]]:
    """Yield shapes with numbers of episodes, mean delays and deltas."""
    for shape, K, mean, delta in product(SHAPES, SIZES, MEANS, DELTAS):
        yield shape, {"episodes": K, "mean_delay": mean, "delta": delta}


def regret(found: Any) -> list[Any]:
    """Return the numbers of a bound, those that follow from others included."""
    return [found.leading, found.delay, found.total, found.max_regret, found.order, found.vacuous]


def optimism(base: str) -> list[Any]:
    """Return the constants of a base."""
    numbers = [
        theory.optimism(base, shape, episodes=K, delta=delta)
        for shape, K, delta in product(SHAPES, SIZES, DELTAS)
    ]
    return [[one.C, one.B, one.B1, one.B2] for one in numbers]


def active(base: str) -> list[Any]:
    """Return the bound for active updating."""
    return [regret(theory.theorem_1(base, shape, **late)) for shape, late in late_sizes()]


def lazy(base: str) -> list[Any]:
    """Return the bound for lazy updating."""
    return [
        regret(theory.theorem_2(base, shape, alpha=alpha, **late))
        for (shape, late), alpha in product(late_sizes(), ALPHAS)
    ]


def alphas(base: str) -> list[Any]:
    """Return the best alphas, and what they are computed from."""
    found: list[Any] = []
    for shape, late in late_sizes():
        terms = theory.lazy_terms(shape, episodes=late["episodes"], base=base, delta=late["delta"])
        found += [
            float(theory.best_alpha(shape, base=base, **late)),
            terms,
            float(theory.alpha_for(terms, late["mean_delay"])),
        ]
    return found


def rewards_late() -> list[Any]:
    """Return the bound for late rewards."""
    return [regret(theory.delayed_rewards(shape, **late)) for shape, late in late_sizes()]


def orders() -> list[Any]:
    """Return the orders of the table."""
    found: list[Any] = []
    for shape, K, mean in product(SHAPES, SIZES, MEANS):
        for alpha, reachable in product(ALPHAS, (None, 1)):
            rows = theory.table_1(
                shape, episodes=K, mean_delay=mean, alpha=alpha, reachable=reachable
            )
            found += [
                [row.base, regret(row.immediate), regret(row.active), regret(row.lazy)]
                for row in rows
            ]
    return found


def counting() -> list[Any]:
    """Return the counting lemmas, the bounds on epochs and psi."""
    found: list[Any] = []
    for shape, K in product(SHAPES, SIZES):
        for late, power in product((0.0, 3.5, 100.0), (0.5, 1)):
            found.append(theory.visit_bound(shape, K, missing=late, power=power))
        for alpha in ALPHAS:
            found += [theory.epoch_bound(shape, K, alpha, printed=how) for how in (False, True)]
    for K, mean, delta, safe in product(SIZES, MEANS, DELTAS, (False, True)):
        found.append(theory.psi(mean, K, delta, safe=safe))
    return [float(one) for one in found]


def sequences() -> list[Any]:
    """Return what sequences of delays come to."""
    found: list[Any] = []
    for late in (*LATE, Draws("visits").table(60, below=20).tolist()):
        found += [theory.missing(late), theory.owners(late), delays.longest_delay(late)]
    return found


def law(text: str) -> list[Any]:
    """Return draws and quantiles of a delay law."""
    found = LAWS[text]() if text in LAWS else delays.parse(text)
    drawn = [
        found.draw(seed=seed, episodes=50, first=first, step=step)
        for seed, first, step in ((0, 1, 0), (7, 1, 2), (123456789, 1000, 0))
    ]
    at = [found.quantile(p) for p in (0.0, 0.001, 0.25, 0.5, 0.9, 0.999999, 1.0)]
    return [found.name, float(found.mean), *drawn, at]


LAWS: dict[str, Callable[[], Any]] = {
    "observed": lambda: delays.empirical([3, 3, 8, math.inf, 0, 12]),
    "nbinom": lambda: delays.from_scipy(stats.nbinom(5, 0.1)),
}
PARSED = (
    "constant:0",
    "constant:30",
    "uniform:2.5",
    "uniform:100",
    "poisson:0.5",
    "poisson:30",
    "geometric:0",
    "geometric:0.25",
    "geometric:100",
    "never:0.1:poisson:30",
    "never:0.5:never:0.5:geometric:4",
)


def world(name: str) -> dict[str, Any]:
    """Return what is known of a world."""
    made = world_of(name)
    H, S, A = made.shape.table
    draws = Draws(name)
    actions = draws.table(H, S, below=A)
    weights = draws.table(H, S, A, below=7) + 1.0
    weights /= weights.sum(axis=2, keepdims=True)
    return {
        "shape": [S, A, H],
        "rewards": digest(made.reward_table()),
        "optimal": plain(float(bl.optimal_value(made))),
        "actions": plain(float(bl.policy_value(made, actions))),
        "mixture": plain(float(bl.policy_value(made, weights))),
        "start": digest(np.asarray(made.start)),
    }


def many() -> dict[str, Any]:
    """Return the regret of several seeds on two threads."""
    made = world_of("riverswim-4")
    runs = bl.simulate_many(
        made,
        base=bl.UCRL2(scale=0.1),
        updater=bl.Lazy("auto"),
        delay=delays.geometric(12),
        episodes=300,
        seeds=[3, 0, 2**40],
        threads=2,
        progress=False,
    )
    return {str(run.seed): [digest(run.regret), digest(run.alpha), run.updates] for run in runs}


def calibration() -> dict[str, Any]:
    """Return how a scale is found."""
    found = bl.calibrate(
        world_of("chain-4"),
        base=bl.UCBVI_CH(),
        episodes=100,
        seeds=range(10),
        threads=1,
        progress=False,
    )
    tried = [[one.scale, one.held, one.runs, one.mean_regret] for one in found.tried]
    return {"scale": found.scale, "held": found.held, "floor": found.at_floor, "tried": tried}


def digested(function: Callable[..., Any], *given: Any) -> str:
    """Return the digest of what a function returns."""
    return digest(function(*given))


BY_BASE = {
    "optimism": optimism,
    "theorem_1": active,
    "theorem_2": lazy,
    "best_alpha": alphas,
}
ALONE = {
    "delayed_rewards": rewards_late,
    "orders": orders,
    "counting": counting,
    "sequences": sequences,
}
THEORY: dict[str, Callable[[], Any]] = {
    f"{name} {base}": partial(digested, function, base)
    for name, function in BY_BASE.items()
    for base in BASES
} | {name: partial(digested, function) for name, function in ALONE.items()}
DELAYS: dict[str, Callable[[], Any]] = {
    name: partial(digested, law, name) for name in (*PARSED, *LAWS)
}
ALL_WORLDS = (*WORLDS, "tiny", "deep-sea-10", "grid-5x5", "garnet-20-3-4", "cliff-walking")
EXACT: dict[str, Callable[[], Any]] = {name: partial(world, name) for name in ALL_WORLDS}
MANY: dict[str, Callable[[], Any]] = {"simulate_many": many, "calibrate": calibration}
