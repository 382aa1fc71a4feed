"""The suite for a base: what is built in passes, and each check fails on a part made to fail it."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

import belated as bl
from belated.checks import base_checks, check_base
from belated.checks.base import CHECKS
from belated.learner.backup import cap, clipped, mean, rest, unseen
from belated.learner.bases import BASES, EpsilonGreedy, Fixed, BackupRule, Optimal, UniformRandom
from belated.learner.plan import Plan
from belated.papers.howson2021.base import Published

SMALL = bl.Shape(2, 3, 2)
PLANS = ("shapes", "greedy", "range", "pure", "order", "pooled", "snapshot", "reads", "compiled")

BUILT_IN: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (kind(), {}) for name, kind in BASES.items() if name not in ("fixed", "optimal")},
    "psrl": (bl.PSRL(), {"without": ["optimistic"]}),
    "q-learning": (bl.QLearning(), {"without": ["range"]}),
    "epsilon-greedy": (EpsilonGreedy(), {"without": ["optimistic"]}),
    "random": (UniformRandom(), {"without": ["optimistic"]}),
    "fixed": (Fixed(actions=[[0, 1], [2, 0]]), {"shape": SMALL, "without": ["optimistic"]}),
    "optimal": (Optimal(), {"without": ["optimistic", *PLANS]}),
    "random ties": (bl.UCRL2(ties="random"), {}),
    "monotone": (bl.UCRL2(monotone=True), {}),
    "capped q-learning": (bl.QLearning(range="H-h+1", bonus="bernstein"), {}),
    "published": (Published(), {"without": ["range", "errors"]}),
}


def test_every_base_is_in_the_table() -> None:
    assert set(BASES) <= set(BUILT_IN)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}-{check}")
        for name, (base, options) in BUILT_IN.items()
        for check in base_checks(base, **options)
    ],
)
def test_what_is_built_in_passes(check: Any) -> None:
    check()


@bl.backup
def usual(constants, stage, row):
    if row.n == 0:
        return unseen(stage, row)
    return clipped(stage, row, mean(stage, row), constants[0] / math.sqrt(row.n))


class Mine(bl.Base):
    """A base in order, to be put out of order in one respect."""

    name = "mine"
    backup: Any = usual
    reads: Any = "successors"

    def backup_rule(self, shape, episodes):
        return BackupRule(self.backup, np.array([5.0 * self.scale]), reads=self.reads)


class Plain:
    """A plain base in order: every plan is worth what is left to earn, and takes action 0."""

    def plan(self, visits, transitions, rewards, episodes):
        H, S, A = rewards.shape
        v = np.repeat(np.arange(H, -1.0, -1.0)[:, None], S, axis=1)
        return self.change(Plan(np.zeros((H, S), int), np.repeat(v[:H, :, None], A, axis=2), v))

    def change(self, plan):
        return plan


def test_a_base_in_order_passes() -> None:
    check_base(Mine())


def test_a_plain_base_in_order_passes_but_cannot_be_compiled() -> None:
    check_base(Plain(), without=["compiled"])
    with pytest.raises(AssertionError, match=r"^Plain cannot run compiled: .* is a Python object;"):
        check_base(Plain())


class Flat(Plain):
    def change(self, plan):
        return Plan(plan.policy, plan.q.reshape(-1), plan.v)


class Fractional(Plain):
    def change(self, plan):
        return Plan(plan.policy + 0.5, plan.q, plan.v)


class Outside(Plain):
    def change(self, plan):
        return Plan(plan.policy + 9, plan.q, plan.v)


class Endless(Plain):
    def change(self, plan):
        return Plan(plan.policy, plan.q, plan.v + 1)


@bl.backup
def nothing_times_infinity(constants, stage, row):
    return math.inf * 0.0


class Nan(Mine):
    backup = nothing_times_infinity


class Timid(Plain):
    """Takes the worst action."""

    def change(self, plan):
        plan.q[:, :, 0] = 0.0
        return plan


class Modest(Plain):
    """Its v is half of what its best action is worth."""

    def change(self, plan):
        return Plan(plan.policy, plan.q, plan.v / 2)


@bl.backup
def boundless(constants, stage, row):
    return row.reward + 2.0 * stage.horizon


class Boundless(Mine):
    backup = boundless


class Moody(Plain):
    """Changes its mind whenever it is asked."""

    asked = 0

    def change(self, plan):
        Moody.asked += 1
        plan.policy[:] = Moody.asked % 2
        return plan


class Grabbing(Plain):
    """Counts into what it is given."""

    def plan(self, visits, transitions, rewards, episodes):
        visits += 1
        return super().plan(visits, transitions, rewards, episodes)


@bl.backup
def forgetful(constants, stage, row):
    for j in range(row.lo, row.hi):
        row.m[j] = 1
    return cap(stage)


class Forgetful(Mine):
    backup = forgetful


@bl.backup
def drifting(constants, stage, row):
    constants[0] *= 0.9
    return clipped(stage, row, 0.0, constants[0])


class Drifting(Mine):
    backup = drifting


class Stubborn(Plain):
    """Never lets a Q grow again, and keeps the last ones to itself."""

    def __init__(self):
        self.last = {}

    def plan(self, visits, transitions, rewards, episodes):
        H, S, A = rewards.shape
        first = visits.reshape(-1)[: S * A].reshape(1, S, A)
        q = np.arange(H, 0, -1.0)[:, None, None] / (1 + (first % 7)) * np.ones((H, S, A))
        q = np.minimum(q, self.last.get(q.shape, q))
        self.last[q.shape] = q
        v = np.concatenate([q.max(axis=2), np.zeros((1, S))])
        return Plan(q.argmax(axis=2), q, v)


@bl.backup
def believing(constants, stage, row):
    return row.reward + (mean(stage, row) if row.n > 0 else 0.0)


class Believing(Mine):
    backup = believing


class Staged(Plain):
    """Reads the counts of the last stage where there is one."""

    def plan(self, visits, transitions, rewards, episodes):
        made = super().plan(visits, transitions, rewards, episodes)
        if len(visits) < len(rewards):
            made.v[0] /= 2
        return made


@bl.backup
def anywhere_at_all(constants, stage, row):
    if row.n == 0:
        return unseen(stage, row)
    best = stage.v[stage.order[0]]
    return clipped(stage, row, mean(stage, row), (best - stage.low) / math.sqrt(row.n))


class Secretive(Mine):
    backup = anywhere_at_all
    reads = "everything"


class SecretiveUCRL2(bl.UCRL2):
    def backup_rule(self, shape, episodes):
        return super().backup_rule(shape, episodes)._replace(reads="successors")


@bl.backup
def crowded(constants, stage, row):
    if row.n == 0:
        return unseen(stage, row)
    seen = 0.0
    for j in range(row.lo, row.hi):
        seen += stage.visits[row.succ[j]]
    return clipped(stage, row, mean(stage, row), 1.0 / (1.0 + seen))


class Crowded(Mine):
    backup = crowded


class Interpreted(Mine):
    backup = staticmethod(usual.function)


@bl.backup
def careless(constants, stage, row):
    return min(cap(stage), row.reward + rest(stage) - min(0.0, math.log(row.n)))


class Careless(Mine):
    backup = careless


@bl.backup
def allocating(constants, stage, row):
    return np.zeros(3)[0]


class Allocating(Mine):
    backup = allocating


@bl.backup
def misspelt(constants, stage, row):
    return row.rewad


class Misspelt(Mine):
    backup = misspelt


FACTOR = 1.0


@bl.backup
def worldly(constants, stage, row):
    return FACTOR * rest(stage) + row.reward


class Worldly(Mine):
    backup = worldly


@dataclass(frozen=True)
class Credulous(Mine):
    """Looks at none of its options."""

    width: float = 1.0
    way: Literal["up", "down"] = "up"

    def __post_init__(self):
        pass


@dataclass(frozen=True)
class Gruff(bl.UCRL2):
    """Refuses, but does not say what."""

    def __post_init__(self):
        if not (self.scale >= 0 and self.delta > 0):
            raise ValueError("no")


BROKEN = [
    ("shapes", Flat(), r"has q of shape \(4,\); it must be \(1, 2, 2\)"),
    ("shapes", Fractional(), "is of type float64; actions are integers"),
    ("shapes", Outside(), "holds action 9; allowed are 0 .. 1"),
    ("shapes", Endless(), r"v\[H\] = \[1. 1.\]; nothing follows"),
    ("shapes", Nan(), "has q that are not all finite numbers"),
    ("greedy", Timid(), "takes an action worth 0.0 at step 0, state 0, where the best is worth"),
    ("greedy", Modest(), r"gives v\[0, 0\] = 0.5; the largest q there is 1.0"),
    ("range", Boundless(), r"with 1 steps left it must lie in 0 .. 1"),
    ("pure", Moody(), "makes another plan of the same counts when it is asked again"),
    ("pure", Grabbing(), "changes the visits it is given"),
    ("pure", Forgetful(), "changes the transitions it is given"),
    ("pure", Drifting(), "plans otherwise in a learner than from the same counts alone"),
    ("order", Stubborn(), "makes another plan when the same episodes come back in another order"),
    ("optimistic", Believing(), r"in \d+ of 20 runs its value fell below .* at most 1 may"),
    ("pooled", Staged(), "plans otherwise from counts pooled over the stages"),
    ("snapshot", Stubborn(), "a part must not keep anything to itself"),
    ("reads", Secretive(), "declares reads='everything' and reads_visits=False, but reads more"),
    ("reads", SecretiveUCRL2(scale=0.3), "declares reads='successors' and"),
    ("reads", Crowded(), "declares reads='successors' and reads_visits=False, but reads more"),
    ("compiled", Interpreted(), "cannot run compiled: the backup of Interpreted is a plain Python"),
    (
        "compiled",
        Allocating(),
        r"cannot run compiled: The backup \w+ does not compile: No implementation",
    ),
    ("compiled", Misspelt(), "does not compile: Unknown attribute 'rewad' of type .*; a backup"),
    ("compiled", Careless(), r"raises ValueError \(.*\), where compiled code goes on"),
    ("compiled", Worldly(), "gives other bits compiled than as plain Python"),
    ("engines", Drifting(), "when the .* engine plans .* they must agree to the bit"),
    ("engines", Moody(), "does not give the same regret when the reference engine plans only"),
    ("errors", Credulous(), "takes delta=nan; it must refuse that with a ValueError"),
    ("errors", Gruff(), "Gruff.* is refused with .*; the message must be one sentence that names"),
]


def test_every_check_has_a_base_that_it_fails_on() -> None:
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(
    ("name", "base", "sentence"),
    [
        pytest.param(*broken, id=f"{broken[0]}-{type(broken[1]).__name__.lower()}")
        for broken in BROKEN
    ],
)
def test_a_base_that_breaks_a_promise_is_told_which(
    name: str, base: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(base, Worldly):  # a global is what it was when the backup was compiled
        Worldly.backup.batch  # noqa: B018
        monkeypatch.setitem(globals(), "FACTOR", 0.5)
    [check] = [check for check in base_checks(base) if check.name == name]
    with pytest.raises(AssertionError, match=sentence) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f". A part that does not claim this says without=['{name}'].")


def test_what_a_base_says_of_itself_is_not_asked_of_it() -> None:
    def names(base: Any) -> set[str]:
        return {check.name for check in base_checks(base)}

    assert set(CHECKS) - names(bl.UCRL2()) == set()
    assert set(CHECKS) - names(bl.UCRL2(monotone=True)) == {"order"}
    assert set(CHECKS) - names(bl.QLearning()) == {"order", "pooled", "reads"}
    assert set(CHECKS) - names(Plain()) == {"reads", "errors"}


@pytest.mark.parametrize("base", ["ucrl2", bl.UCRL2, Plain])
def test_what_is_no_base_is_refused(base: Any) -> None:
    with pytest.raises(TypeError, match=r"^base is .*; it must be a Base, or .*\.$"):
        check_base(base)
