"""Delays that change with time: seasons, outages and weekly batches."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.delays import by_time, parse, weekly
from belated.delays.laws import NEVER, Law


def draw(law: Any, episodes: int = 400, first: int = 1) -> Any:
    return law.draw(seed=3, episodes=episodes, first=first)


def test_the_law_of_a_season_is_that_of_the_episodes_played_in_it() -> None:
    law = by_time([(30, "geometric:9"), (20, "poisson:4")])
    numbers = np.arange(1, 401)
    in_first = (numbers - 1) % 50 < 30
    expected = np.where(in_first, draw(parse("geometric:9")), draw(parse("poisson:4")))
    np.testing.assert_array_equal(draw(law), expected)
    assert law.mean == pytest.approx((30 * 9 + 20 * 4) / 50)


def test_a_last_season_of_infinite_length_does_not_end() -> None:
    law = by_time([(10, "constant:1"), (5, "constant:2"), (math.inf, "constant:3")])
    assert draw(law, 20).tolist() == [1] * 10 + [2] * 5 + [3] * 5
    assert draw(law, 5, first=10**9).tolist() == [3] * 5
    assert (law.mean, law.quantile(0.0), law.settled) == (3, 3, 16)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=5),
    st.integers(0, 12),
)
def test_nothing_arrives_in_an_outage_and_the_rest_is_not_moved(
    entries: list[tuple[int, bool]], mean: int
) -> None:
    schedule: list[Any] = [(5, f"geometric:{mean}")]
    schedule += [(n, "outage" if out else f"geometric:{mean}") for n, out in entries]
    out = np.concatenate([np.full(n, law == "outage") for n, law in schedule])
    plain = draw(parse(f"geometric:{mean}"))
    for number, before, after in zip(range(1, 401), plain, draw(by_time(schedule)), strict=True):
        arrival = number + before  # plain: the end of the outage is found episode by episode
        while out[(arrival - 1) % out.size] and out[arrival % out.size]:
            arrival += 1
        assert number + after == arrival


@given(st.integers(1, 60), st.data())
def test_a_batch_is_delivered_on_its_day_within_a_week_of_arrival(
    week: int, data: st.DataObject
) -> None:
    day = data.draw(st.integers(1, week))
    law = weekly("never:0.3:geometric:20", day, week=week)
    moved, plain = draw(law), draw(parse("never:0.3:geometric:20"))
    lost = plain >= NEVER
    assert (moved[lost] == NEVER).all()
    wait = (moved - plain)[~lost]
    assert ((wait >= 0) & (wait < week)).all()
    assert ((np.arange(1, 401) + moved)[~lost] % week == day % week).all()


def test_the_mean_of_weekly_batches_is_half_a_week_longer() -> None:
    assert weekly("geometric:20", 3).mean == 23
    assert weekly("never:0.1:geometric:20", 3).mean == math.inf
    many = weekly(by_time([(3, "constant:0"), (7, "constant:30")]), 3)
    assert many.mean == pytest.approx(draw(many, 7000).mean(), rel=1e-3)


def test_the_quantiles_are_those_of_all_episodes_of_a_long_period_together() -> None:
    law = by_time([(900_000, "uniform:50"), (100_000, "constant:1000")])
    assert law.quantile(0.45) == pytest.approx(50, abs=1)
    assert law.quantile(0.89) == pytest.approx(100, abs=1)
    assert law.quantile(0.91) == 1000


NAMES = [
    "by_time:100=geometric:10,20=outage,30=constant:50",
    "by_time:1000=geometric:10,inf=geometric:50",
    "by_time:3=(mixture:0.5=constant:1,0.5=constant:3),4=weekly:7:constant:0",
    "weekly:7:geometric:20",
    "weekly:70/70:never:0.1:poisson:3",
    "weekly:2:by_time:3=constant:1,4=constant:2",
    "never:0.25:weekly:2:geometric:5",
    "never:0.25:by_time:10=geometric:10,5=outage",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_parse_to_laws_with_these_names(name: str) -> None:
    law = parse(name)
    assert (law.name, parse(law.name)) == (name, law)
    assert pickle.loads(pickle.dumps(law)) == law
    assert not law.stationary


def test_never_keeps_the_calendar_of_a_law() -> None:
    lossy, plain = draw(parse("never:0.5:weekly:7:constant:3")), draw(weekly("constant:3", 7))
    arrives = lossy < NEVER
    assert 0.4 < arrives.mean() < 0.6
    np.testing.assert_array_equal(lossy[arrives], plain[arrives])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weekly("constant:0", 0), r"^day must be at least 1, got 0\.$"),
        (lambda: weekly("constant:0", 8), r"^day must lie in 1 \.\. 7, .* got 8; pass week= "),
        (lambda: weekly("constant:0", 1, week=0), r"^week must be at least 1, got 0\.$"),
        (lambda: parse("weekly:constant:0"), r"must have the form weekly:DAY\[/WEEK\]:DELAY"),
        (lambda: parse("weekly:1.5:constant:0"), r"is invalid: day must be an integer, got 1\.5"),
        (lambda: by_time([]), r"^schedule must be a list of pairs such as .*, got \[\]\.$"),
        (lambda: by_time([(0, "constant:0")]), r"^episodes of a season must be at least 1, got 0"),
        (lambda: by_time([(3, "outage")]), r"^schedule must begin with a law, got 'outage'"),
        (
            lambda: by_time([(math.inf, "constant:0"), (3, "constant:1")]),
            r"^schedule must have the length inf only for its last entry.*entry 1 of 2\.$",
        ),
        (lambda: by_time([(3, "by_state:0:else=constant:0")]), r"must not depend on the played"),
    ],
)
def test_invalid_schedules_are_rejected_with_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


class Odd(Law):
    """Law whose draws depend on the number of the episode."""

    stationary = False

    def draw(self, *, seed: int, episodes: int, first: int = 1, step: int = 0) -> Any:
        return np.arange(first, first + episodes) % 2


def test_a_law_with_draws_of_its_own_is_drawn_from_within_others() -> None:
    law = Odd("odd", 0.5, lambda p: np.ceil(p))
    assert draw(by_time([(2, law), (2, "constant:5")]), 6, first=2).tolist() == [0, 5, 5, 1, 0, 5]
    assert draw(weekly(law, 7), 3, first=6).tolist() == [1, 7, 6]
