"""When to plan: the rules of the updaters. Runs are compared with them in tests/equivalence."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.learner.updaters import Arrival

ONE = bl.MDP.dense([[[1.0]]], [[0.5]], horizon=1)

engines = pytest.mark.parametrize("engine", ["compiled", "reference"])


def due(updater: bl.Updater, n: int, epoch: int) -> bool:
    counts = np.array([3, n]), np.array([3, epoch])
    return bool(updater.due(Arrival(*counts, rows=np.array([1]), arrived=1, since_plan=1)))


# Lazy


@pytest.mark.plain
@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(1, [1, 2, 4, 8, 16, 32, 64]), (2, [1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93])],
)
def test_lazy_plans_when_a_count_has_grown_by_one_over_alpha(
    alpha: float, expected: list[int]
) -> None:
    """The first n with alpha (n - e) >= e, that is n = e + ceil(e / alpha)."""
    learner = bl.Learner(
        bl.Shape(1, 1, 1), base=bl.UCRL2(), updater=bl.Lazy(alpha), rewards=[[0.5]], episodes=100
    )
    planned_at = []
    for k in range(1, 101):
        before = learner.updates
        learner.observe([bl.Episode(k, states=[0, 0], actions=[0])])
        if learner.updates > before:
            planned_at.append(k)
    assert planned_at == expected
    for engine in ("compiled", "reference"):
        run = bl.simulate(ONE, base="ucrl2", updater=bl.Lazy(alpha), episodes=101, engine=engine)
        assert run.updates == len(expected)


COUNTS = st.integers(0, 10**12)
ALPHAS = st.integers(1, 10) | st.integers(1, 10**6) | st.integers(1, 2**53)


@settings(max_examples=300, deadline=None)
@given(COUNTS, ALPHAS, st.integers(-2, 2))
def test_the_trigger_of_a_whole_alpha_is_exact(epoch: int, alpha: int, off: int) -> None:
    n = max(epoch, epoch + -(-epoch // alpha) + off)  # around the least count that suffices
    assert due(bl.Lazy(alpha), n, epoch) == (n > epoch and alpha * (n - epoch) >= epoch)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 64), st.integers(0, 63), st.integers(-2, 2))
def test_the_trigger_of_a_binary_fraction_is_exact(
    epoch: int, whole: int, part: int, off: int
) -> None:
    alpha = Fraction(whole) + Fraction(part, 64)
    n = max(epoch, epoch + math.ceil(epoch / alpha) + off)
    assert due(bl.Lazy(float(alpha)), n, epoch) == (n > epoch and alpha * (n - epoch) >= epoch)


@pytest.mark.parametrize("alpha", [1, 7, 1e9])
def test_only_new_data_triggers_and_a_first_observation_always_does(alpha: float) -> None:
    assert not due(bl.Lazy(alpha), 0, 0)
    assert not due(bl.Lazy(alpha), 5, 5)
    assert due(bl.Lazy(alpha), 1, 0)


@pytest.mark.parametrize("alpha", [0.99, 0, -1, math.nan, -math.inf])
def test_an_alpha_below_one_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=rf"^alpha must be at least 1 .*, got {alpha}\.$"):
        bl.Lazy(alpha)


@pytest.mark.parametrize("alpha", ["2", None, True])
def test_an_alpha_that_is_no_number_is_refused(alpha: Any) -> None:
    with pytest.raises(TypeError, match=rf"^alpha must be a number( or 'auto')?, got {alpha!r}\.$"):
        bl.Lazy(alpha)


def test_an_alpha_of_numpy_is_a_number_too() -> None:
    assert bl.Lazy(np.int64(3)).alpha == bl.Lazy(np.float32(3)).alpha == 3.0


# Explicit exploration


@pytest.mark.parametrize(
    ("options", "m"),
    [
        ({"tau_max": 100}, 100 * math.log(30 * 30 / 0.05)),
        ({"tau_max": 100, "log": "SHA"}, 100 * math.log(30 * 30 * 2 / 0.05)),
        ({"tau_max": 100, "log": "none"}, 100),
        ({"tau_max": 100, "c": 0.5, "delta": 0.1}, 50 * math.log(30 * 30 / 0.1)),
        ({"threshold": 7}, 7),
        ({"threshold": 7, "tau_max": 100}, 7),
        ({"tau_max": 0}, 0),
    ],
)
def test_the_threshold_has_its_formula(options: Any, m: float) -> None:
    updater = bl.ExplicitExploration(**options)
    assert updater.count_threshold(bl.Shape(30, 2, 30)) == pytest.approx(m, rel=1e-15)


@engines
def test_without_a_largest_delay_explicit_exploration_refuses(engine: Any) -> None:
    delay = bl.delays.never(0.5, otherwise=bl.delays.constant(1))
    given: dict[str, Any] = {"base": bl.UCRL2(), "delay": delay, "episodes": 30, "engine": engine}
    with pytest.raises(ValueError, match=r"delay is infinite.*pass tau_max or threshold to .*\.$"):
        bl.simulate(ONE, updater=bl.ExplicitExploration(), **given)
    for known in (bl.ExplicitExploration(tau_max=3), bl.ExplicitExploration(threshold=4)):
        assert bl.simulate(ONE, updater=known, **given).last_explored > 0
    with pytest.raises(ValueError, match=r"^tau_max is missing; .*\.$"):
        bl.Learner(
            bl.Shape(1, 1, 1),
            base=bl.UCRL2(),
            updater=bl.ExplicitExploration(),
            rewards=[[0.5]],
            episodes=9,
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "s"}, r"^unit must be one of 'sha', 'sh', got 's'\."),
        ({"draw": "some"}, r"^draw must be one of 'all', 'rare', got 'some'\.$"),
        ({"log": "S"}, r"^log must be one of 'SH', 'SHA', 'none', got 'S'\."),
        ({"unit": "sh", "draw": "rare"}, r"^draw='rare' needs unit='sha'; got unit='sh'\.$"),
        ({"tau_max": -1}, r"^tau_max must be finite and at least 0, got -1\.$"),
        ({"tau_max": math.inf}, r"^tau_max must be finite and at least 0, got inf\.$"),
        ({"threshold": math.nan}, r"^threshold must be finite and at least 0, got nan\.$"),
        ({"c": -0.5}, r"^c must be finite and at least 0, got -0\.5\.$"),
        ({"delta": 1}, r"^delta must lie strictly between 0 and 1, got 1\.$"),
    ],
)
def test_a_bad_option_of_explicit_exploration_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bl.ExplicitExploration(**options)


# Multi-instance


@pytest.mark.plain
def test_feedback_before_its_start_is_refused() -> None:
    learner = bl.Learner(
        bl.Shape(1, 1, 1),
        base=bl.UCRL2(),
        updater=bl.MultiInstance(),
        rewards=[[0.5]],
        episodes=9,
    )
    episode = bl.Episode(4, states=[0, 0], actions=[0])
    learner.start(3)
    with pytest.raises(ValueError, match=r"^Episode 4 was not started; .* start\(4\) first\.$"):
        learner.observe([episode])
    assert (learner.observed, learner.missing, learner.instances) == (0, 1, 1)
    learner.start(4)
    learner.observe([episode])
    assert (learner.observed, learner.missing, learner.instances) == (1, 1, 2)


def test_the_lowest_free_copy_plays_next() -> None:
    """Copies tell themselves apart here by what they have seen of one row."""
    shape = bl.Shape(2, 2, 2)
    learner = bl.Learner(
        shape,
        base=bl.UCBVI_CH(scale=0),
        updater=bl.MultiInstance(),
        rewards=[[[0.1, 0.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]],
        episodes=9,
    )
    fresh = learner.start(1)
    assert learner.start(2) == fresh
    assert learner.start(3) == fresh
    # Copy 1 has learnt that action 0 does not lead to state 1, and so tries the other.
    assert learner.observe([bl.Episode(2, states=[0, 0, 0], actions=[0, 0])])
    taught = learner.policy
    assert taught.actions[0, 0] == 1
    # Copy 0 returns with good news, and comes first.
    assert learner.observe([bl.Episode(1, states=[0, 1, 0], actions=[0, 0])])
    assert learner.policy.actions[0, 0] == 0
    learner.start(4)
    assert learner.policy == taught
    learner.start(5)
    assert learner.policy == fresh
    assert learner.instances == 3


def test_an_updater_that_defines_an_alpha_needs_no_method_due() -> None:
    class Twice(bl.Updater):
        name = "twice"

        def lazy_alpha(self) -> float:
            return 1.0

    for n, epoch in ((3, 3), (5, 3), (6, 3), (1, 0)):
        assert due(Twice(), n, epoch) == due(bl.Lazy(1), n, epoch) == (n >= max(1, 2 * epoch))


def test_a_subclass_of_matured_may_have_a_condition_of_its_own() -> None:
    class Never(bl.Matured):
        def due(self, arrival: Arrival) -> bool:
            return False

    assert due(bl.Matured(bl.Active(), age=5), 1, 0)
    assert not due(Never(bl.Active(), age=5), 1, 0)
    assert Never(bl.Active(), age=5).lazy_alpha() is None
