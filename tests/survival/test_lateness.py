"""`bl.lateness`: its inputs, its sentences, and the law that it gives."""

import math
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.checks.law import check_law
from belated.survival.records import records_of
from survival.cohorts import shop

NOW = 60 * 86400


def test_times_and_episodes_give_the_same_delays() -> None:
    opened = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=h) for h in (0, 1, 2, 3)]
    back = [opened[2], None, opened[3] + timedelta(minutes=30), None]
    late = bl.lateness(opened=opened, returned=back, now=opened[3] + timedelta(hours=1))
    assert late.seconds is not None
    assert late.seconds.km.times.tolist() == [3600, 5400, 7200, 10800]
    assert late.seconds.km.returned.tolist() == [0, 1, 1, 0]
    # two episodes were opened after the first one until it was back, and one after the third
    assert late.episodes.km.times.tolist() == [0, 1, 2]
    assert late.episodes.km.returned.tolist() == [0, 1, 1]
    texts = [time.isoformat() for time in opened]
    rows = [
        {"opened": texts[i], "returned": "" if time is None else time.isoformat()}
        for i, time in enumerate(back)
    ]
    same = bl.lateness(rows, now=(opened[3] + timedelta(hours=1)).isoformat())
    assert same.facts() == late.facts()


@pytest.mark.parametrize(("episodes", "share"), [(9, None), (12, 0.0)])
def test_the_share_out_is_null_until_ten_episodes_were_followed(
    episodes: int, share: float | None
) -> None:
    opened = np.arange(episodes) * 3600.0
    facts = bl.lateness(opened=opened, returned=opened + 60, now=NOW).facts()
    seconds = facts["seconds"]
    assert seconds["returned"] == episodes
    assert [seconds["not_back"], seconds["not_back_low"]] == [share, share]
    assert (seconds["not_back_high"] is None) == (share is None)


def test_a_run_is_measured_by_the_delays_it_had() -> None:
    parts: dict[str, Any] = {"base": "ucrl2:scale=0.1", "updater": "lazy:10"}
    run = bl.simulate("chain-3", **parts, delay="never:0.1:geometric:20", episodes=800, seed=3)
    late = bl.lateness(run)
    # feedback usable after the last episode counts too
    assert 0 <= late.episodes.returned - (run.episodes - run.missing) < 10
    assert late.episodes.never.low < 0.1 < late.episodes.never.high
    value, low, high = late.episodes.median
    assert low <= bl.delays.parse("never:0.1:geometric:20").quantile(0.5) <= high
    assert value > 0
    stepwise = bl.simulate("chain-3", **parts, delay="geometric:20", episodes=50, delay_per="step")
    with pytest.raises(ValueError, match=r"geometric:20.*pass them to bl.lateness as opened="):
        bl.lateness(stepwise)


def test_a_learner_estimates_delays_that_its_mean_underestimates() -> None:
    learner = bl.Learner(
        states=2, actions=2, horizon=1, base="ucrl2", updater="active", rewards="unknown",
        episodes=500,
    )  # fmt: skip
    law = bl.delays.geometric(60)
    delays = law.draw(seed=1, episodes=150)
    for k in range(1, 151):
        due = [i for i in range(1, k) if i + delays[i - 1] == k - 1]
        learner.observe([bl.Episode(i, [0, 1], [0], [0.5]) for i in due])
        if k == 100:
            learner = bl.Learner.restore(learner.snapshot())
        learner.start(k)
    late = learner.status.lateness
    ages = np.arange(149, -1, -1)
    assert late.episodes == 150
    assert late.returned == learner.observed == (delays < ages).sum()
    assert late.median.low <= law.quantile(0.5) <= late.median.high
    assert learner.mean_delay == pytest.approx(np.minimum(delays, ages).mean())
    assert learner.mean_delay < law.mean
    assert bl.lateness(learner).episodes.median == late.median
    assert bl.lateness(learner).tests == ()


def test_the_law_has_the_quantiles_of_the_estimate() -> None:
    late = bl.lateness(**shop(2), now=NOW)
    for tail in ("never", "geometric"):
        law = late.law(tail)
        for p in (0.1, 0.25, 0.5, 0.75, 0.9):
            assert law.quantile(p) == late.episodes.quantile(p).value
        drawn = law.draw(seed=1, episodes=4000)
        for p in (0.25, 0.5, 0.75):
            share = np.mean(drawn <= law.quantile(p))
            assert share == pytest.approx(
                1 - late.episodes.not_back(law.quantile(p)).value, abs=0.03
            )
        check_law(law)
        assert pickle.loads(pickle.dumps(law)).quantile(0.5) == law.quantile(0.5)


def test_the_tail_of_the_law_is_never_or_geometric() -> None:
    true = bl.delays.geometric(50)
    delays = true.draw(seed=5, episodes=120)
    opened = np.arange(1, 121)
    back = np.where(opened + delays <= 120, opened + delays, np.nan)
    late = bl.lateness(opened=opened, returned=back, unit="episodes", now=120)
    left = late.episodes.km.survival[-1]
    assert left > 0.02
    assert math.isinf(late.law().mean)
    assert math.isinf(late.law().quantile(1 - left / 2))
    law = late.law("geometric")
    assert law.mean == pytest.approx(true.mean, rel=0.35)
    assert late.episodes.km.last_return < law.quantile(1 - left / 2) < math.inf
    u = (np.arange(20_000) + 0.5) / 20_000
    assert law.at(u).mean() == pytest.approx(law.mean, rel=0.01)
    run = bl.simulate("chain-3", base="ucrl2", updater="active", delay=law, episodes=50)
    assert run.delay == law.name


def test_a_dependence_is_one_sentence_that_says_what_follows() -> None:
    late = bl.lateness(**shop(1), now=NOW)
    assert late.early_returns_are_biased
    assert late.summary.startswith(
        "Early returns are not representative, because lateness differs by arm and falls with the "
        "return: averages over what is back are biased, so count an episode only once"
    )
    assert late.summary in str(late)
    assert {test.about for test in late.dependences} == {"arm", "return"}


def test_without_dependence_nothing_speaks_against_early_returns() -> None:
    rng = np.random.default_rng(3)
    opened = np.sort(rng.uniform(0, NOW, 600))
    returned = opened + rng.exponential(86400, 600)
    returned[returned > NOW] = np.nan
    returns = np.where(np.isnan(returned), np.nan, rng.random(600))
    late = bl.lateness(opened=opened, returned=returned, returns=returns, now=NOW)
    assert late.early_returns_are_biased is False
    assert late.summary.startswith("No dependence was found in 4 tests")


def test_drift_is_not_taken_for_a_biased_sample() -> None:
    rng = np.random.default_rng(1)
    opened = np.sort(rng.uniform(0, 1000, 800))
    returned = opened + rng.exponential(np.where(opened < 500, 5, 25))
    late = bl.lateness(
        opened=opened, returned=np.where(returned < 1000, returned, np.nan), now=1000
    )
    assert [test.about for test in late.dependences] == ["drift, cohort 2 to 3"]
    assert late.summary.startswith("Lateness changes over time")


def test_young_cohorts_do_not_tell_whether_early_returns_are_representative() -> None:
    rng = np.random.default_rng(4)
    opened = np.sort(rng.uniform(0, 100, 200))
    returned = opened + rng.exponential(200, 200)
    returned[returned > 100] = np.nan
    returns = np.where(np.isnan(returned), np.nan, rng.random(200))
    late = bl.lateness(opened=opened, returned=returned, returns=returns, now=100)
    assert late.early_returns_are_biased is None
    assert "cannot be told yet (return: no cohort is known to be complete yet)" in late.summary
    assert late.estimate.summary.startswith("Less than half of the feedback is back after")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "lateness needs records, or both opened and returned"),
        ({"opened": [], "returned": []}, "opened must hold at least one episode, got none"),
        ({"opened": [1, 2], "returned": [3]}, "returned must have one entry for each of the 2"),
        ({"opened": [1, None], "returned": [3, 4]}, "opened must be known for every episode"),
        ({"opened": [5], "returned": [3]}, "episode 0 was opened at 5 and returned at 3"),
        ({"opened": [5], "returned": [6], "now": 4}, "now must not be before an opening"),
        ({"opened": ["soon"], "returned": [6]}, "opened must hold numbers, times in ISO 8601"),
        ({"opened": [1], "returned": [2], "returns": [1, 2]}, "returns must have 1 entries"),
        ({"opened": [1], "returned": [2], "groups": {"arm": "AB"}}, "group 'arm' must have 1 entr"),
        ({"opened": [1], "returned": [2], "groups": ["arm"]}, "groups must be a mapping"),
        ({"opened": [1], "returned": [2], "unit": "days"}, "unit must be one of"),
        ({"opened": [1], "returned": [2], "confidence": 1}, "confidence must lie between 0 and 1"),
        ({"opened": [1], "returned": [2], "bands": "normal"}, "bands must be one of"),
        ({"opened": [1], "returned": [2], "cohorts": 1}, "cohorts must be at least 2, got 1"),
        ({"opened": [1], "returned": [2], "level": 0}, "level must lie between 0 and 1, got 0"),
        ({"records": 7}, "records must be a Run, a Learner, or rows"),
        (
            {"records": [{"opened": 1}]},
            "Each episode needs the field 'returned'; the fields are op",
        ),
        ({"records": records_of([1], [2]), "opened": [1]}, "omit them with records"),
        ({"records": records_of([1], [2]), "now": 9}, "now is for rows and arrays"),
    ],
)
def test_bad_input_gets_one_sentence(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        bl.lateness(**arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_estimate_in_seconds_is_not_a_law() -> None:
    late = bl.lateness(opened=[1, 2], returned=[3, None])
    assert late.seconds is not None
    with pytest.raises(ValueError, match=r"law needs an estimate in episodes"):
        late.seconds.law()
    with pytest.raises(ValueError, match=r"tail must be one of 'never', 'geometric', got 'long'"):
        late.law("long")  # type: ignore[arg-type]
