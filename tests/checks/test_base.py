"""Tests of the suite for a base: built-in bases pass, and each check has a base that fails it."""

import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.checks import base_checks, check_base
from belated.checks.base import CHECKS
from belated.learner.backup import cap, clipped, mean, rest, unseen
from belated.learner.bases import (
    BASES,
    OPTIMISTIC,
    BackupRule,
    EpsilonGreedy,
    Fixed,
    Optimal,
    UniformRandom,
)
from belated.learner.plan import Plan, plan
from belated.papers.howson2021.base import Published
from combinations import FULL, chosen

SMALL = bl.Shape(2, 3, 2)
PLANS = (
    "has_valid_shapes",
    "is_greedy",
    "stays_in_range",
    "is_pure",
    "ignores_arrival_order",
    "accepts_pooled_counts",
    "survives_snapshot",
    "declares_reads",
    "runs_compiled",
)

BUILT_IN: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (kind(), {}) for name, kind in BASES.items() if name not in ("fixed", "optimal")},
    "psrl": (bl.PSRL(), {"without": ["is_optimistic"]}),
    "rlsvi": (bl.RLSVI(), {"without": ["is_optimistic", "stays_in_range"]}),
    "q-learning": (bl.QLearning(), {"without": ["stays_in_range"]}),
    "epsilon-greedy": (EpsilonGreedy(), {"without": ["is_optimistic"]}),
    "random": (UniformRandom(), {"without": ["is_optimistic"]}),
    "fixed": (Fixed(actions=[[0, 1], [2, 0]]), {"shape": SMALL, "without": ["is_optimistic"]}),
    "optimal": (Optimal(), {"without": ["is_optimistic", *PLANS]}),
    "random ties": (bl.UCRL2(ties="random"), {}),
    "monotone": (bl.UCRL2(monotone=True), {}),
    "capped q-learning": (bl.QLearning(range="H-h+1", bonus="bernstein"), {}),
    "published": (Published(), {"without": ["stays_in_range"]}),
}


def test_every_base_is_in_the_table() -> None:
    assert set(BASES) <= set(BUILT_IN)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}-{check}")
        for number, (name, (base, options)) in enumerate(BUILT_IN.items())
        for check in base_checks(base, **{"shape": bl.Shape(3, 2, 3), **options})
        # tests of equivalence do the same as the first two, and test_every_base runs the others
        if str(check) not in ("runs_compiled", "engines_agree") or chosen(number, one_in=4)
        if str(check) not in ("is_optimistic", "declares_reads") or name not in OPTIMISTIC
    ],
)
def test_built_in_bases_pass(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if not FULL:
        monkeypatch.setattr("belated.checks.base.SCALES", (0.1,))
    check()


@bl.backup
def usual(constants, stage, row):
    if row.n == 0:
        return unseen(stage, row)
    return clipped(stage, row, mean(stage, row), constants[0] / math.sqrt(row.n))


class Mine(bl.Base):
    """Base that passes every check; subclasses fail one."""

    name = "mine"
    backup: Any = usual
    reads: Any = "successors"

    def backup_rule(self, shape, episodes):
        return BackupRule(self.backup, np.array([5.0 * self.scale]), reads=self.reads)


class Plain:
    """Python base that passes every check: values are the number of steps left, actions are 0."""

    def plan(self, visits, transitions, rewards, episodes):
        H, S, A = rewards.shape
        v = np.repeat(np.arange(H, -1.0, -1.0)[:, None], S, axis=1)
        return self.change(Plan(np.zeros((H, S), int), np.repeat(v[:H, :, None], A, axis=2), v))

    def change(self, plan):
        return plan


def test_a_valid_base_passes() -> None:
    check_base(Mine())


def test_a_valid_python_base_passes_but_cannot_be_compiled() -> None:
    check_base(Plain(), without=["runs_compiled"])
    with pytest.raises(AssertionError, match=r"^Plain cannot run compiled: .* is a Python object;"):
        check_base(Plain())


class Flat(Plain):
    def change(self, plan):
        return Plan(plan.policy, plan.q.reshape(-1), plan.v)


class Fractional(Plain):
    def change(self, plan):
        return Plan(plan.policy + 0.5, plan.q, plan.v)


class InvalidAction(Plain):
    def change(self, plan):
        return Plan(plan.policy + 9, plan.q, plan.v)


@bl.backup
def nothing_times_infinity(constants, stage, row):
    return math.inf * 0.0


class Nan(Mine):
    backup = nothing_times_infinity


class WorstAction(Plain):
    """Base that takes the worst action."""

    def change(self, plan):
        plan.q[:, :, 0] = 0.0
        return plan


class HalvedValue(Plain):
    """Base whose v is half of the largest q."""

    def change(self, plan):
        return Plan(plan.policy, plan.q, plan.v / 2)


@bl.backup
def unbounded(constants, stage, row):
    return row.reward + 2.0 * stage.horizon


class Unbounded(Mine):
    backup = unbounded


class Alternating(Plain):
    """Base whose plan differs in every call."""

    calls = 0

    def change(self, plan):
        Alternating.calls += 1
        plan.policy[:] = Alternating.calls % 2
        return plan


@bl.backup
def changes_counts(constants, stage, row):
    for j in range(row.lo, row.hi):
        row.m[j] = 1
    return cap(stage)


class ChangesCounts(Mine):
    backup = changes_counts


@bl.backup
def changes_constants(constants, stage, row):
    constants[0] *= 0.9
    return clipped(stage, row, 0.0, constants[0])


class ChangesConstants(Mine):
    backup = changes_constants


class Stateful(Plain):
    """Base that keeps earlier values of Q and never increases them."""

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
def without_bonus(constants, stage, row):
    return row.reward + (mean(stage, row) if row.n > 0 else 0.0)


class WithoutBonus(Mine):
    backup = without_bonus


class Staged(Plain):
    """Base that treats pooled counts differently."""

    def plan(self, visits, transitions, rewards, episodes):
        made = super().plan(visits, transitions, rewards, episodes)
        if len(visits) < len(rewards):
            made.v[0] /= 2
        return made


@bl.backup
def reads_extremes(constants, stage, row):
    if row.n == 0:
        return unseen(stage, row)
    best = stage.v[stage.order[0]]
    return clipped(stage, row, mean(stage, row), (best - stage.low) / math.sqrt(row.n))


class Undeclared(Mine):
    backup = reads_extremes
    reads = "everything"


@bl.backup
def reads_visits_of_successors(constants, stage, row):
    if row.n == 0:
        return unseen(stage, row)
    seen = 0.0
    for j in range(row.lo, row.hi):
        seen += stage.visits[row.succ[j]]
    return clipped(stage, row, mean(stage, row), 1.0 / (1.0 + seen))


class ReadsVisits(Mine):
    backup = reads_visits_of_successors


class Interpreted(Mine):
    backup = staticmethod(usual.function)


@bl.backup
def log_of_zero(constants, stage, row):
    return min(cap(stage), row.reward + rest(stage) - min(0.0, math.log(row.n)))


class LogOfZero(Mine):
    backup = log_of_zero


@bl.backup
def misspelt(constants, stage, row):
    return row.rewad


class Misspelt(Mine):
    backup = misspelt


FACTOR = 1.0


@bl.backup
def reads_global(constants, stage, row):
    return FACTOR * rest(stage) + row.reward


class ReadsGlobal(Mine):
    backup = reads_global


BROKEN = [
    (
        "has_valid_shapes",
        Flat(),
        r"Flat is invalid: q of a plan must have shape \(1, 2, 2\), got",
    ),
    ("has_valid_shapes", Fractional(), "policy of a plan must consist of integers, got float64"),
    (
        "has_valid_shapes",
        InvalidAction(),
        "InvalidAction is invalid: Each planned action must lie in 0 .. 1, got 9",
    ),
    ("has_valid_shapes", Nan(), "has q that are not all finite numbers"),
    (
        "is_greedy",
        WorstAction(),
        "takes an action with q = 0.0 at step 0, state 0; the largest q is",
    ),
    ("is_greedy", HalvedValue(), r"gives v\[0, 0\] = 0.5; the largest q is 1.0"),
    ("stays_in_range", Unbounded(), r"with 1 steps left it must lie in 0 .. 1"),
    ("is_pure", Alternating(), "gives a different plan for the same counts when it plans again"),
    ("is_pure", ChangesCounts(), "changes the transitions that it reads"),
    (
        "is_pure",
        ChangesConstants(),
        "gives a different plan in a learner than for the same counts alone",
    ),
    (
        "ignores_arrival_order",
        Stateful(),
        "gives a different plan when the same episodes arrive in a different order",
    ),
    (
        "is_optimistic",
        WithoutBonus(),
        r"in \d+ of 20 runs its value was below .* at most 1 are allowed",
    ),
    ("accepts_pooled_counts", Staged(), "gives a different plan for pooled counts"),
    ("survives_snapshot", Stateful(), "a part must not keep state of its own"),
    (
        "declares_reads",
        Undeclared(),
        "declares reads='everything' and reads_visits=False, but reads more",
    ),
    (
        "declares_reads",
        ReadsVisits(),
        "declares reads='successors' and reads_visits=False, but reads more",
    ),
    (
        "runs_compiled",
        Interpreted(),
        "cannot run compiled: the backup of Interpreted is a plain Python",
    ),
    (
        "runs_compiled",
        Misspelt(),
        r"fails: AttributeError: .* no attribute 'rewad' \(test_base\.py, line \d+\)\.",
    ),
    (
        "runs_compiled",
        LogOfZero(),
        r"raises ValueError \(.*\) in Python, where compiled code continues",
    ),
    ("runs_compiled", ReadsGlobal(), "gives a different result compiled than in Python"),
    (
        "engines_agree",
        Alternating(),
        "gives a different regret with the reference engine and incremental planning",
    ),
]


def test_every_check_has_a_base_that_it_fails_on() -> None:
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(
    ("name", "base", "message"),
    [
        pytest.param(*broken, id=f"{broken[0]}-{type(broken[1]).__name__.lower()}")
        for broken in BROKEN
    ],
)
def test_a_base_that_fails_a_check_gets_a_message_that_says_why(
    name: str, base: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(
        base, ReadsGlobal
    ):  # a compiled backup keeps the value that a global had when it was compiled
        plan(base, np.zeros((1, 2, 2)), np.zeros((1, 2, 2, 2)), np.zeros((2, 2)), episodes=1)
        monkeypatch.setitem(globals(), "FACTOR", 0.5)
    [check] = [check for check in base_checks(base) if check.name == name]
    with pytest.raises(AssertionError, match=message) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f". To skip this check, pass without=['{name}'].")


def test_checks_that_contradict_a_declaration_are_omitted() -> None:
    def names(base: Any) -> set[str]:
        return {check.name for check in base_checks(base)}

    assert set(CHECKS) - names(bl.UCRL2()) == set()
    assert set(CHECKS) - names(bl.UCRL2(monotone=True)) == {"ignores_arrival_order"}
    assert set(CHECKS) - names(bl.QLearning()) == {
        "ignores_arrival_order",
        "accepts_pooled_counts",
        "declares_reads",
    }
    assert set(CHECKS) - names(Plain()) == {"declares_reads"}


@pytest.mark.parametrize("base", ["ucrl2", bl.UCRL2, Plain])
def test_an_object_that_is_not_a_base_is_rejected(base: Any) -> None:
    with pytest.raises(TypeError, match=r"^base must be a Base or have a method plan, got .*\.$"):
        check_base(base)
