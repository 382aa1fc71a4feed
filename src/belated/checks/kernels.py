"""Checks of a base's kernel: what its backup reads, and that compiled code changes nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any, Final

import numpy as np

from belated.checks.engines import obstacle
from belated.checks.learners import learner_of, plan_in, same_plan
from belated.checks.plans import Shapes
from belated.checks.samples import EPISODES, cases, observed, world
from belated.checks.suite import called, hold
from belated.episode import Shape
from belated.learner.backup import Backup, as_backup
from belated.learner.bases.base import Base, Kernel, kernel_of
from belated.learner.plan import Planner, plan
from belated.learner.problem import Stages
from belated.learner.updaters import Active

STAGES: Final[tuple[Stages, ...]] = ("each", "pooled")
DOUBTS: Final = (1.0, 0.1, 0.01)


def keener(base: Base) -> list[Base]:
    """The base, and the same with less doubt: at first most values are at their cap and alike."""
    return [replace(base, scale=base.scale * doubt) for doubt in DOUBTS]


def declares_what_it_reads(base: Base, shapes: Shapes) -> None:
    """Planning only what changed, by what `Kernel.reads` declares, gives the same as planning all.

    The truth is planned in full by a base that declares to read everything there is.
    """
    for one, shape, stages in product(keener(base), shapes, STAGES):
        some = observed(shape, 6, episodes=60)
        generous = Altered.of(one, lambda kernel: kernel._replace(reads="order", reads_visits=True))
        truth = learner_of(generous, some, planning="full", stages=stages)
        quick = learner_of(one, some, stages=stages)
        kernel = base.kernel(shape, EPISODES)
        for episode in some.episodes:
            truth.observe([episode])
            quick.observe([episode])
            hold(
                same_plan(plan_in(truth), plan_in(quick)),
                f"{called(base)} declares reads={kernel.reads!r} and "
                f"reads_visits={kernel.reads_visits}, but reads more than that: planning only what "
                "changed differs from planning everything.",
            )


@dataclass(frozen=True)
class Altered(Base):
    """A base with a change to its kernel."""

    inner: Any = None
    change: Callable[[Kernel], Kernel] = lambda kernel: kernel

    @classmethod
    def of(cls, base: Base, change: Callable[[Kernel], Kernel]) -> "Altered":
        shared = {name: getattr(base, name) for name in ("delta", "scale", "monotone", "ties")}
        return cls(**shared, inner=base, change=change)

    def kernel(self, shape: Shape, episodes: int) -> Kernel:
        return self.change(kernel_of(self.inner, shape, episodes))


def compiles(base: Base | Planner, shapes: Shapes) -> None:
    """It runs compiled, to the bits that it gives as plain Python."""
    reason = obstacle(world(shapes[0], 0), base, Active())
    hold(
        reason is None,
        f"{called(base)} cannot run compiled: {reason}; it runs in the slower reference loop.",
    )
    assert isinstance(base, Base)
    if base.stepwise:
        return
    try:
        as_backup(base.kernel(shapes[0], EPISODES).backup).batch  # noqa: B018
    except TypeError as error:
        raise AssertionError(f"{called(base)} cannot run compiled: {error}") from error
    for one, some in product(keener(base), chain.from_iterable(map(cases, shapes))):
        plain = Altered.of(one, lambda kernel: kernel._replace(backup=interpreted(kernel)))
        given = some.n, some.m, some.rewards
        try:
            with np.errstate(all="ignore"):  # compiled code goes on with inf and nan too
                slow = plan(plain, *given, episodes=EPISODES)
        except (ArithmeticError, IndexError, ValueError) as error:
            raise AssertionError(
                f"As plain Python the backup of {called(base)} raises {type(error).__name__} "
                f"({error}), where compiled code goes on regardless."
            ) from error
        hold(
            same_plan(slow, plan(one, *given, episodes=EPISODES)),
            f"The backup of {called(base)} gives other bits compiled than as plain Python; use "
            "math functions on numbers, loops for sums, and x * x rather than x**2.",
        )


def interpreted(kernel: Kernel) -> Backup:
    """The backup as plain Python."""
    return Backup(as_backup(kernel.backup).function, compiled=False)
