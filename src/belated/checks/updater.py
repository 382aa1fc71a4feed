"""Conformance of an updater: what a learner relies on when it asks whether to plan."""

import math
from collections.abc import Callable, Collection
from typing import Final

import numpy as np

from belated.checks import options
from belated.checks.engines import agree
from belated.checks.learners import comes_back
from belated.checks.samples import EPISODES, SHAPES, observed, world
from belated.checks.suite import Check, called, choose, hold
from belated.delays.laws import geometric
from belated.episode import Bools, Shape
from belated.learner.bases.ucrl2 import UCRL2
from belated.learner.updaters.updater import Explorer, Outset, Sight, Updater

BASE: Final = UCRL2(scale=0.1)
SHAPE: Final = SHAPES[-1]


def updater_checks(updater: Updater, *, without: Collection[str] = ()) -> list[Check]:
    """Every check that applies to `updater`, to be called one by one.

    `without` names checks to leave out, for what the updater does not claim.

    >>> from belated.learner.updaters import Active
    >>> [check.name for check in updater_checks(Active(), without=["engines"])]
    ['answers', 'pure', 'order', 'nothing', 'plans', 'pace', 'explorer', 'snapshot']
    """
    if not isinstance(updater, Updater):
        raise TypeError(f"updater is {updater!r}; it must be an Updater such as Active().")
    silent = set() if options.nonsense(updater) else {"errors"}
    return [check for check in choose(CHECKS, without, updater) if check.name not in silent]


def check_updater(updater: Updater, *, without: Collection[str] = ()) -> None:
    """All of `updater_checks` at once: raises AssertionError with the first thing that is wrong."""
    for check in updater_checks(updater, without=without):
        check()


def sights(updater: Updater, count: int = 50) -> list[Sight]:
    """What a learner might show it: counts that have grown, here more and there less."""
    random = np.random.default_rng(0)
    H, S, A = SHAPE.table
    made = []
    for _ in range(count):
        arrived = int(random.integers(1, 5))
        touched = random.integers(0, H * S * A, arrived * H)
        epoch = random.integers(0, 30, H * S * A) * (random.random(H * S * A) < 0.8)
        n = epoch + random.integers(0, 4, epoch.size)
        np.add.at(n, touched, 1)
        since = arrived + int(random.integers(0, 9))
        made.append(Sight(n, epoch, touched, arrived, since, updater.pace(outset(2.0))))
    return made


def outset(mean_delay: float) -> Outset:
    """The beginning of an epoch, after delays of this mean."""
    return Outset(SHAPE, EPISODES, BASE.name, BASE.delta, mean_delay)


def answers(updater: Updater) -> None:
    """`due` says True or False."""
    for sight in sights(updater):
        answer: object = updater.due(sight)
        hold(
            isinstance(answer, bool | np.bool_),
            f"{called(updater)}.due answers {answer!r}; it must be True or False.",
        )


def is_pure(updater: Updater) -> None:
    """The same sight gives the same answer, and stays as it is."""
    seen = sights(updater)
    first = [updater.due(sight) for sight in seen]
    hold(
        first == [updater.due(sight) for sight in seen],
        f"{called(updater)}.due answers otherwise when it is shown the same again; "
        "it may depend on what it sees alone.",
    )
    for before, after in zip(sights(updater), seen, strict=True):
        for name in ("n", "epoch", "touched"):
            hold(
                np.array_equal(getattr(before, name), getattr(after, name)),
                f"{called(updater)}.due changes sight.{name}; it may only read it.",
            )


def ignores_order(updater: Updater) -> None:
    """The order in which an arrival's rows come cannot change the answer."""
    random = np.random.default_rng(1)
    for sight in sights(updater):
        shuffled = sight._replace(touched=random.permutation(sight.touched))
        hold(
            updater.due(sight) == updater.due(shuffled),
            f"{called(updater)}.due answers otherwise when the same rows come in another order.",
        )


def rests_on_nothing(updater: Updater) -> None:
    """It does not plan when nothing has arrived since the last plan."""
    for sight in sights(updater):
        nothing = sight._replace(epoch=sight.n, touched=sight.touched[:0], arrived=0, since=0)
        hold(
            not updater.due(nothing),
            f"{called(updater)} wants to plan when nothing has arrived; that would change nothing.",
        )


def plans_in_the_end(updater: Updater) -> None:
    """It plans when a million arrivals have made every count a thousandfold."""
    rows = np.arange(math.prod(SHAPE.table))
    for pace in (updater.pace(outset(0.0)), updater.pace(outset(100.0))):
        epoch = np.full(rows.size, 1000)
        sight = Sight(1000 * epoch, epoch, rows, 1, 10**6, pace)
        hold(
            updater.due(sight),
            f"{called(updater)} does not plan after a million arrivals that made every count a "
            "thousandfold; a learner with it would not learn.",
        )


def keeps_pace(updater: Updater) -> None:
    """`pace` gives a number, the same for the same outset."""
    for mean_delay in (0.0, 3.5, 1e4):
        pace = updater.pace(outset(mean_delay))
        number = isinstance(pace, int | float | np.integer | np.floating)
        hold(
            number and not math.isnan(pace),
            f"{called(updater)}.pace gives {pace!r}; it must be a number, or inf.",
        )
        hold(
            pace == updater.pace(outset(mean_delay)),
            f"{called(updater)}.pace gives another number for the same outset.",
        )


def explores_afresh(updater: Updater) -> None:
    """Each learner gets an explorer of its own, whose marks are None or booleans (H, S, A)."""
    used, fresh = updater.explorer(SHAPE), updater.explorer(SHAPE)
    if used is None or fresh is None:
        hold(used is fresh, f"{called(updater)}.explorer gives an explorer now and then only.")
        return
    before = marks(updater, fresh, SHAPE)
    for _ in range(EPISODES):
        for h, s, a in np.ndindex(SHAPE.table):
            used.see(h, s, a)
        marks(updater, used, SHAPE)
        hold(
            np.array_equal(before, marks(updater, fresh, SHAPE)),
            f"{called(updater)}.explorer gives two learners one memory; it must make a new one.",
        )


def marks(updater: Updater, explorer: Explorer, shape: Shape) -> Bools:
    """Where it explores, which must fit."""
    found = explorer.marks()
    if found is None:
        return np.zeros(shape.table, np.bool_)
    hold(
        found.shape == shape.table and found.dtype == np.bool_,
        f"The marks of {called(updater)}'s explorer have shape {found.shape} and type "
        f"{found.dtype}; they must be booleans (H, S, A) = {shape.table}.",
    )
    return found.copy()


def survives_a_snapshot(updater: Updater) -> None:
    """A learner restored from its snapshot goes on bit for bit."""
    comes_back(called(updater), BASE, updater, observed(SHAPE, 5, episodes=80))


def runs_alike(updater: Updater) -> None:
    """Every engine that can run it gives the same bits; your own run in the reference loop."""
    for seed, shape in enumerate(SHAPES):
        agree(called(updater), world(shape, seed), BASE, updater, delay=geometric(3))


def refuses_nonsense(updater: Updater) -> None:
    """A number that is none, or an unknown word, is refused with one sentence that names it."""
    for name, value in options.nonsense(updater):
        options.refuses(updater, name, value)


CHECKS: Final[dict[str, Callable[..., None]]] = {
    "answers": answers,
    "pure": is_pure,
    "order": ignores_order,
    "nothing": rests_on_nothing,
    "plans": plans_in_the_end,
    "pace": keeps_pace,
    "explorer": explores_afresh,
    "snapshot": survives_a_snapshot,
    "engines": runs_alike,
    "errors": refuses_nonsense,
}
