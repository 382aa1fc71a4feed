"""Laws that depend on the calendar: delays, mean and quantiles, and their declaration."""

import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.checks import check_law
from belated.delays import NEVER, with_calendar


def next_batch(numbers: Any, delays: Any) -> Any:
    return delays + -(numbers + delays) % 7


def weekly(law: bl.Law) -> bl.Law:
    return with_calendar(law, next_batch, name=f"weekly:{law.name}", period=7)


@pytest.mark.parametrize(
    "law",
    [
        bl.delays.constant(0),
        bl.delays.geometric(20),
        bl.delays.uniform(3),
        bl.delays.never(0.2, otherwise=bl.delays.poisson(5)),
    ],
    ids=lambda law: law.name,
)
def test_feedback_is_delivered_after_every_seventh_episode(law: bl.Law) -> None:
    made = weekly(law)
    before, after = (x.draw(seed=3, episodes=500, first=11) for x in (law, made))
    arrives = before < NEVER
    numbers = np.arange(11, 511)
    assert ((numbers + after)[arrives] % 7 == 0).all()
    assert (after[arrives] >= before[arrives]).all()
    assert (after[arrives] < before[arrives] + 7).all()
    assert (after[~arrives] == NEVER).all()
    assert not made.stationary
    check_law(made)


def test_mean_and_quantiles_are_those_of_a_period() -> None:
    law = weekly(bl.delays.constant(2))
    assert law.draw(seed=0, episodes=7).tolist() == [6, 5, 4, 3, 2, 8, 7]
    assert law.mean == 5.0
    assert [law.quantile(p) for p in (0.0, 0.5, 1.0)] == [2.0, 5.0, 8.0]
    assert weekly(bl.delays.never(0.5, otherwise=bl.delays.constant(2))).mean == math.inf


def test_a_law_with_a_calendar_runs_alike_in_both_engines() -> None:
    setting: dict[str, Any] = {"base": bl.UCRL2(scale=0.1), "updater": bl.Lazy(3), "episodes": 100}
    runs = [
        bl.simulate(
            bl.chain(4), **setting, delay=weekly(bl.delays.geometric(5)), engine=engine, every=1
        )
        for engine in ("compiled", "reference")
    ]
    np.testing.assert_array_equal(runs[0].regret, runs[1].regret)
    assert runs[0].updates <= 100 // 7


SHARES = np.array([5, 5, 5, 5, 5, 5, 19, 7, 7, 7]) / 70
"""Probabilities of the delays 0 .. 9 of `Mixed` on all days together."""


def quantiles(p: Any) -> Any:
    """Return the quantiles of the delays of `Mixed` on all days together."""
    return np.searchsorted(np.cumsum(SHARES) - 1e-12, p).clip(0, 9).astype(float)


def uniform_quantiles(p: Any) -> Any:
    return np.clip(np.ceil(10 * p) - 1, 0, 9)


class Mixed(bl.Law):
    """Law with delays uniform on 0 .. 9, at least 6 on two of seven days."""

    stationary = False

    def draw(self, *, seed: int, episodes: int, first: int = 1, step: int = 0) -> Any:
        law = bl.Law("uniform", 4.5, uniform_quantiles)
        delays = law.draw(seed=seed, episodes=episodes, first=first, step=step)
        weekend = (first + np.arange(episodes)) % 7 < 2
        return np.where(weekend, np.maximum(delays, 6), delays)


def test_a_subclass_that_declares_its_calendar_passes() -> None:
    check_law(Mixed("mixed", float(SHARES @ np.arange(10)), quantiles))


class Silent(Mixed):
    stationary = True


def test_a_subclass_that_does_not_declare_its_calendar_is_rejected() -> None:
    message = r"gives one in 7 episodes another distribution.*must set stationary=False\."
    with pytest.raises(AssertionError, match=message):
        check_law(Silent("silent", float(SHARES @ np.arange(10)), quantiles))


@pytest.mark.parametrize(
    ("calendar", "period", "message"),
    [
        (lambda numbers, delays: delays - 1, 7, r"at least 0, got -1\.$"),
        (lambda numbers, delays: delays / 2, 7, r"one integer for each delay, got float64 of"),
        (lambda numbers, delays: delays[:1], 7, r"one integer for each delay, got int64 of shape"),
        (next_batch, 0, r"^period must be at least 1, got 0\.$"),
    ],
)
def test_an_invalid_calendar_is_rejected(calendar: Any, period: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        with_calendar(bl.delays.constant(0), calendar, name="wrong", period=period)
