"""Conformance of a base: what a learner relies on when it asks for a plan."""

from collections.abc import Callable, Collection, Sequence
from itertools import product
from typing import Final

from belated.checks import kernels, options, plans
from belated.checks.engines import agree, fastest
from belated.checks.learners import comes_back
from belated.checks.plans import Shapes
from belated.checks.samples import SHAPES, observed, world
from belated.checks.suite import Check, called, choose, hold
from belated.delays.laws import geometric, never
from belated.episode import Shape
from belated.learner.bases.base import Base
from belated.learner.plan import Planner
from belated.learner.updaters import Active, Lazy
from belated.simulation.simulate import simulate

RUNS: Final = 20


def base_checks(
    base: Base | Planner, *, shape: Shape | None = None, without: Collection[str] = ()
) -> list[Check]:
    """Every check that applies to `base`, to be called one by one.

    - `shape`: the only shape to try, for a base that is made for one.
    - `without`: names of checks to leave out, for what the base does not claim.

    What a base says of itself is left out by itself: one that is `stepwise` learns in the order of
    arrival and has no use for pooled counts, one that is `monotone` remembers earlier plans.

    >>> from belated.learner.bases import UCRL2
    >>> [check.name for check in base_checks(UCRL2(), without=["engines"])][:4]
    ['compiled', 'shapes', 'greedy', 'range']
    """
    if isinstance(base, type) or not isinstance(base, Base | Planner):
        raise TypeError(f"base is {base!r}; it must be a Base, or have a method plan.")
    silent = set()
    if not isinstance(base, Base):
        silent = {"reads"}
    elif base.stepwise:
        silent = {"order", "pooled", "reads"}
    elif base.monotone:
        silent = {"order"}
    if not options.nonsense(base):
        silent.add("errors")
    chosen = choose(CHECKS, without, base, SHAPES if shape is None else (shape,))
    return [check for check in chosen if check.name not in silent]


def check_base(
    base: Base | Planner, *, shape: Shape | None = None, without: Collection[str] = ()
) -> None:
    """All of `base_checks` at once: raises AssertionError with the first thing that is wrong."""
    for check in base_checks(base, shape=shape, without=without):
        check()


def is_optimistic(base: Base | Planner, shapes: Shapes) -> None:
    """V~_1 >= V*_1 in every episode of all but a share delta of runs in small random worlds."""
    broken = 0
    for seed in range(RUNS):
        small = world(shapes[seed % len(shapes)], seed)
        run = simulate(
            small,
            base=base,
            updater=Active(),
            delay=geometric(2),
            episodes=100,
            seed=seed,
            engine=fastest(small, base, Active()),
        )
        broken += run.optimism_broken > 0
    delta = base.delta if isinstance(base, Base) else 0.05
    hold(
        broken <= delta * RUNS,
        f"{called(base)} is not optimistic: in {broken} of {RUNS} runs its value fell below the "
        f"optimal one, and with delta={delta:g} at most {delta * RUNS:g} may.",
    )


def survives_a_snapshot(base: Base | Planner, shapes: Shapes) -> None:
    """A learner restored from its snapshot goes on bit for bit."""
    for shape in shapes:
        for updater in (Active(), Lazy(2)):
            comes_back(called(base), base, updater, observed(shape, 5, episodes=48))


def runs_alike(base: Base | Planner, shapes: Shapes) -> None:
    """The reference loop, the compiled engine and planning only what changed agree to the bit."""
    law = never(0.1, otherwise=geometric(3))
    can_pool = isinstance(base, Base) and not base.stepwise
    ways: Sequence[Base | Planner] = kernels.keener(base) if isinstance(base, Base) else [base]
    for way, (seed, shape) in product(ways, enumerate(shapes)):
        small, who = world(shape, seed), called(base)
        agree(who, small, way, Lazy(2), delay=law)
        agree(who, small, way, Active(), delay=law, stages="pooled" if can_pool else "each")


def refuses_nonsense(base: Base | Planner, shapes: Shapes) -> None:
    """A number that is none, or an unknown word, is refused with one sentence that names it."""
    for name, value in options.nonsense(base):
        options.refuses(base, name, value)


CHECKS: Final[dict[str, Callable[..., None]]] = {
    "compiled": kernels.compiles,
    "shapes": plans.fits,
    "greedy": plans.is_greedy,
    "range": plans.stays_in_range,
    "pure": plans.is_pure,
    "order": plans.ignores_order,
    "optimistic": is_optimistic,
    "pooled": plans.takes_pooled_counts,
    "snapshot": survives_a_snapshot,
    "reads": kernels.declares_what_it_reads,
    "engines": runs_alike,
    "errors": refuses_nonsense,
}
