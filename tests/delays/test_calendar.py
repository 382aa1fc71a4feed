"""Laws that depend on the calendar: delays, mean and quantiles."""

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
